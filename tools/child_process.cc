#include "tools/child_process.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/command.h"

extern char** environ;

namespace firn::tools {
namespace {

std::vector<char*> argvOf(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  argv.push_back(const_cast<char*>(program.c_str()));
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  return argv;
}

}  // namespace

Result<std::string> siblingProgram(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return ioError("cannot read /proc/self/exe: " + error.message());
  const std::string path = (self.parent_path() / name).string();
  if (access(path.c_str(), X_OK) != 0) {
    return notFound("cannot run " + path + ": " + std::strerror(errno) +
                    ". This build runs blobs only, or the program was moved; compile the model with a full build");
  }
  return path;
}

Status replaceProcess(const std::string& program, const std::vector<std::string>& arguments) {
  execv(program.c_str(), argvOf(program, arguments).data());
  return ioError("cannot run " + program + ": " + std::strerror(errno));
}

Status runProcess(const std::string& program, const std::vector<std::string>& arguments) {
  pid_t child = 0;
  const int failure =
      posix_spawn(&child, program.c_str(), nullptr, nullptr, argvOf(program, arguments).data(), environ);
  if (failure != 0) return ioError("cannot run " + program + ": " + std::strerror(failure));
  int state = 0;
  // An interrupt from the terminal reaches the child too; one sent to this process alone is passed on.
  while (waitpid(child, &state, 0) < 0) {
    if (errno != EINTR) return ioError(std::string("cannot wait for ") + program + ": " + std::strerror(errno));
    if (interrupted().load()) kill(child, SIGINT);
  }
  if (WIFEXITED(state) && WEXITSTATUS(state) == kExitOk) return Status::ok();
  if (WIFEXITED(state) && WEXITSTATUS(state) == kExitInterrupted) return cancelled("the compile was interrupted");
  // A child that has not yet set up its handler dies of the signal itself.
  if (WIFSIGNALED(state) && (WTERMSIG(state) == SIGINT || WTERMSIG(state) == SIGTERM)) {
    return cancelled("the compile was interrupted");
  }
  const std::string name = std::filesystem::path(program).filename().string();
  if (WIFSIGNALED(state)) return internalError(name + " was ended by signal " + std::to_string(WTERMSIG(state)));
  const std::string said =
      name + " failed (exit code " + std::to_string(WEXITSTATUS(state)) + "), see its message above";
  // What went wrong the child has said; its exit code keeps only whether the user's arguments were at fault.
  return WEXITSTATUS(state) == kExitUsage ? invalidArgument(said) : ioError(said);
}

}  // namespace firn::tools
