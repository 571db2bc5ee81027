// The program firn: reads the command line, runs one subcommand, maps its Status to an exit code.
#include <cstdio>
#include <exception>
#include <iostream>

#include "base/quote.h"
#include "tools/command.h"

namespace {

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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? firn::tools::kExitOk : firn::tools::kExitUsage;
  }
  firn::tools::catchInterrupts();
  const firn::Status status = action();
  std::cout.flush();
  if (!status.isOk()) {
    std::cerr << "firn: " << firn::printableText(status.toString()) << "\n";
    return firn::tools::exitCode(status);
  }
  if (!std::cout) {
    std::cerr << "firn: io: standard output could not be written\n";
    return firn::tools::kExitError;
  }
  return firn::tools::kExitOk;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return runFirn(argc, argv);
  } catch (const std::exception& error) {  // bad_alloc and the like: the libraries throw nothing of their own
    std::fprintf(stderr, "firn: internal: %s\n", error.what());
    return firn::tools::kExitError;
  }
}
