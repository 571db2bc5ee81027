// firn compile: hands the command line to firn-compile, the only program that links the compiler.
#include "tools/child_process.h"
#include "tools/command.h"

namespace firn::tools {

void addCompileCommand(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("compile", "Compile a model file into a blob (firn compile --help lists the options)");
  // Every option belongs to firn-compile, --help too.
  command->set_help_flag();
  command->prefix_command();
  command->callback([command, &action] {
    action = [arguments = command->remaining()]() -> Status {
      FIRN_ASSIGN_OR_RETURN(const std::string program, siblingProgram("firn-compile"));
      return replaceProcess(program, kCompileCommand, arguments);
    };
  });
}

}  // namespace firn::tools
