// The program firn: reads the command line, runs one subcommand, maps its Status to an exit code.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>

#include "base/quote.h"
#include "tools/command.h"
#include "tools/mapping_fault.h"
#include "tools/standard_input.h"

namespace {

/// The exit code of a success, unless its output got lost.
int endOfOutput() {
  if (std::cout.flush()) return firn::tools::kExitOk;
  std::cerr << "firn: io: standard output could not be written\n";
  return firn::tools::kExitError;
}

int refuseCommand(const CLI::App& app, const std::string& name) {
  std::cerr << "firn: there is no command " << firn::quoted(name) << "; the commands are";
  const char* separator = " ";
  for (const CLI::App* command : app.get_subcommands({})) {
    std::cerr << separator << command->get_name();
    separator = ", ";
  }
  std::cerr << "\n";
  return firn::tools::kExitUsage;
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
  firn::tools::addTokenizeCommand(app, action);
  firn::tools::addInspectCommand(app, action);
  firn::tools::addCacheCommand(app, action);
  const auto isNamed = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && std::ranges::none_of(app.get_subcommands({}), isNamed)) {
    return refuseCommand(app, argv[1]);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? endOfOutput() : firn::tools::kExitUsage;
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
  } catch (const std::exception& error) {  // bad_alloc and the like: the libraries throw nothing of their own
    std::fprintf(stderr, "firn: internal: %s\n", error.what());
    return firn::tools::kExitError;
  }
}
