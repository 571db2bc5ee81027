#include "tools/child_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system_error.h"
#include "tools/command.h"

extern char** environ;

namespace firn::tools {
namespace {

std::vector<char*> argvOf(const std::string& name, const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  argv.push_back(const_cast<char*>(name.c_str()));
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  return argv;
}

/// What is not ignored gets its default, as the program will have it: a handler of ours would swallow a signal that
/// comes before.
void forgetHandlers() {
  for (const int signal : kInterrupts) {
    struct sigaction action{};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) std::signal(signal, SIG_DFL);
  }
}

/// Becomes `program` in the process that spawn() has forked, or writes why not to `failures`. Ends with `parent`,
/// however that ends: who is killed can pass nothing on. Only what is safe behind a fork is called.
[[noreturn]] void becomeChild(const char* program, char* const* argv, pid_t parent, int failures) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kExitError);  // it ended before that
  execve(program, argv, environ);
  const int failure = errno;
  static_cast<void>(!write(failures, &failure, sizeof(failure)));
  _exit(kExitError);
}

/// Starts `program` with the signals in `mask` held back.
Result<pid_t> spawn(const std::string& program, const std::vector<std::string>& arguments, const sigset_t& mask) {
  const std::vector<char*> argv = argvOf(program, arguments);
  std::array<int, 2> failures{};
  if (pipe2(failures.data(), O_CLOEXEC) != 0) return systemError("cannot run " + program, errno);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    forgetHandlers();
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    becomeChild(program.c_str(), argv.data(), parent, failures[1]);
  }
  int failure = child < 0 ? errno : 0;
  close(failures[1]);
  // Ends at once: a program that has begun has closed the other end.
  if (child > 0 && read(failures[0], &failure, sizeof(failure)) > 0) waitpid(child, nullptr, 0);
  close(failures[0]);
  if (failure != 0) return systemError("cannot run " + program, failure);
  return child;
}

/// Waits until `child` has ended, and passes an interrupt on to it: one from a terminal has reached it already, one
/// sent to this process alone has not. Signals come through nowhere but in ppoll, so each is seen.
Status passInterruptsUntilEnd(pid_t child, const sigset_t& letThrough) {
  // Not glibc's pidfd_open, whose header before 2.37 cannot be used from C++.
  const auto handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (handle < 0) return ioError(std::string("pidfd_open: ") + std::strerror(errno));
  pollfd ended{.fd = handle, .events = POLLIN, .revents = 0};
  int failure = 0;
  while (failure == 0 && ppoll(&ended, 1, nullptr, &letThrough) < 0) {
    if (errno != EINTR) failure = errno;
    if (interrupted().load()) kill(child, SIGINT);
  }
  close(handle);
  return failure == 0 ? Status::ok() : ioError(std::string("ppoll: ") + std::strerror(failure));
}

/// Nobody but the system, or a person, sends SIGKILL; a program that fails by itself dies of others.
Status endedBySignal(const std::string& program, int signal) {
  const std::string said = program + " was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  if (signal != SIGKILL) return internalError(said + "; this is a bug in firn: report it with the command line");
  return resourceExhausted(said +
                           ": most likely the system ran out of memory. Close other programs, ask for less (a shorter "
                           "--max-prompt-len, fewer --threads), or compile where there is more (firn compile MODEL -o "
                           "FILE.firn) and run the file here");
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

Status replaceProcess(const std::string& program, const std::string& name, const std::vector<std::string>& arguments) {
  execv(program.c_str(), argvOf(name, arguments).data());
  return ioError("cannot run " + program + ": " + std::strerror(errno));
}

Status runProcess(const std::string& program, const std::vector<std::string>& arguments) {
  const HeldInterrupts held;
  if (interrupted().load()) return cancelled("interrupted before " + program + " was started");
  FIRN_ASSIGN_OR_RETURN(const pid_t child, spawn(program, arguments, held.before()));
  if (const Status waited = passInterruptsUntilEnd(child, held.before()); !waited.isOk()) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return waited.withPlace("cannot wait for " + program);
  }
  int state = 0;
  if (waitpid(child, &state, 0) < 0) {
    return ioError(std::string("cannot wait for ") + program + ": " + std::strerror(errno));
  }
  if (WIFEXITED(state) && WEXITSTATUS(state) == kExitOk) return Status::ok();
  const std::string name = std::filesystem::path(program).filename().string();
  for (const int signal : kInterrupts) {
    const bool hasSaidSo = WIFEXITED(state) && WEXITSTATUS(state) == kExitOfSignal + signal;
    // A child that has not yet set up its handler dies of the signal itself.
    if (!hasSaidSo && !(WIFSIGNALED(state) && WTERMSIG(state) == signal)) continue;
    interruptedBy(signal);
    return cancelled(name + " was interrupted");
  }
  if (WIFSIGNALED(state)) return endedBySignal(name, WTERMSIG(state));
  const std::string said =
      name + " failed (exit code " + std::to_string(WEXITSTATUS(state)) + "), see its message above";
  // What went wrong the child has said; its exit code keeps only whether the user's arguments were at fault.
  return WEXITSTATUS(state) == kExitUsage ? invalidArgument(said) : ioError(said);
}

}  // namespace firn::tools
