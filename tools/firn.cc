// The program firn: reads the command line, runs one subcommand, maps its Status to an exit code.
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include "base/quote.h"
#include "tools/command.h"
#include "tools/mapping_fault.h"
#include "tools/standard_input.h"
#include "tools/usage.h"

namespace {

/// The exit code of a success, unless its output got lost.
int endOfOutput() {
  if (std::cout.flush()) return firn::tools::kExitOk;
  std::cerr << "firn: io: standard output could not be written\n";
  return firn::tools::kExitError;
}

int runFirn(int argc, char** argv) {
  CLI::App app{"firn compiles a large language model once into a static program and runs it.", "firn"};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("firn ") + FIRN_VERSION);
  firn::tools::Action action;
  firn::tools::addRunCommand(app, action);
  firn::tools::addCompileCommand(app, action);
  firn::tools::addBenchCommand(app, action);
  firn::tools::addEvalCommand(app, action);
  firn::tools::addProfileCommand(app, action);
  firn::tools::addSimulateCommand(app, action);
  firn::tools::addTokenizeCommand(app, action);
  firn::tools::addInspectCommand(app, action);
  firn::tools::addCacheCommand(app, action);
  if (const auto code = firn::tools::readCommandLine(app, argc, argv)) {
    return *code == firn::tools::kExitOk ? endOfOutput() : *code;
  }
  firn::tools::catchInterrupts();
  firn::tools::reportMappingFaults("firn");
  const firn::Status status = action();
  if (!status.isOk()) {
    std::cout.flush();
    std::cerr << "firn: " << firn::printableText(status.toString()) << "\n";
    return firn::tools::exitCode(status);
  }
  return endOfOutput();
}

}  // namespace

int main(int argc, char** argv) {
  firn::tools::occupyStandardDescriptors();
  try {
    return runFirn(argc, argv);
  } catch (const std::bad_alloc&) {
    return firn::tools::outOfMemory("firn");
  } catch (const std::exception& error) {  // the libraries throw nothing of their own
    std::fprintf(stderr, "firn: internal: %s\n", error.what());
    return firn::tools::kExitError;
  }
}
