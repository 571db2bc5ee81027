#include "tools/child_process.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/command.h"

namespace firn::tools {
namespace {

using Clock = std::chrono::steady_clock;

/// Runs `program` in a process of its own that catches interrupts, and sends `signal` after `delay`: its exit code.
int exitAfterSignal(const std::vector<std::string>& program, int signal, std::chrono::microseconds delay) {
  int ready[2];
  EXPECT_EQ(pipe(ready), 0);
  const pid_t process = fork();
  if (process == 0) {
    // A test program in the background may have inherited that they are ignored.
    for (const int other : kInterrupts) std::signal(other, SIG_DFL);
    catchInterrupts();
    EXPECT_EQ(write(ready[1], "x", 1), 1);
    _exit(exitCode(runProcess(program.front(), {program.begin() + 1, program.end()})));
  }
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  close(ready[1]);
  if (signal != 0) {
    std::this_thread::sleep_for(delay);
    kill(process, signal);
  }
  int state = 0;
  EXPECT_EQ(waitpid(process, &state, 0), process);
  EXPECT_TRUE(WIFEXITED(state));
  return WEXITSTATUS(state);
}

TEST(ChildProcessTest, AnInterruptAtAnyMomentEndsBoth) {
  const auto start = Clock::now();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // From before the spawn to a child that has long been running.
    for (int delay = 0; delay < 4000; delay += 100) {
      ASSERT_EQ(exitAfterSignal({"/bin/sleep", "100"}, signal, std::chrono::microseconds(delay)), 128 + signal)
          << "signal " << signal << " after " << delay << " us";
    }
  }
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(90)) << "a child was waited for to its end";
}

TEST(ChildProcessTest, AnInterruptSentByTheChildItselfIsNotLost) {
  const std::vector<std::string> program = {"/bin/sh", "-c", "kill -TERM $PPID; exec sleep 100"};
  for (int i = 0; i < 20; ++i) ASSERT_EQ(exitAfterSignal(program, 0, {}), 128 + SIGTERM);
}

TEST(ChildProcessTest, TheSecondInterruptEndsAtOnce) {
  // The child heeds no interrupt: neither the terminal's nor the one passed on.
  const std::vector<std::string> program = {"/bin/sh", "-c",
                                            "trap '' INT; kill -INT $PPID; sleep 0.4; kill -TERM $PPID; sleep 1"};
  const auto start = Clock::now();
  EXPECT_EQ(exitAfterSignal(program, 0, {}), 128 + SIGTERM);
  EXPECT_LT(Clock::now() - start, std::chrono::milliseconds(1200));
}

/// True when `process` is there and no zombie.
bool isRunning(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  return std::getline(file, text) && text.find(") Z ") == std::string::npos;
}

TEST(ChildProcessTest, AChildEndsWithAParentThatIsKilled) {
  const std::string path = testing::TempDir() + "firn_child_" + std::to_string(getpid());
  // From before the spawn to a child that has long been running.
  for (int delay = 0; delay < 4000; delay += 250) {
    std::filesystem::remove(path);
    const pid_t process = fork();
    if (process == 0) {
      catchInterrupts();
      _exit(exitCode(runProcess(
          "/bin/sh", {"-c", "echo $$ > " + path + ".new; mv " + path + ".new " + path + "; exec sleep 30"})));
    }
    const auto start = Clock::now();
    std::this_thread::sleep_for(std::chrono::microseconds(delay));
    if (delay % 500 == 0) {
      while (!std::filesystem::exists(path)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pid_t child = 0;
    if (!(std::ifstream(path) >> child)) continue;  // killed before its child said who it is
    while (isRunning(child) && Clock::now() - start < std::chrono::seconds(20)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_FALSE(isRunning(child)) << delay << " us";
  }
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".new");
}

TEST(ChildProcessTest, ExitCodesAndSignalsBecomeStatuses) {
  EXPECT_TRUE(runProcess("/bin/true", {}).isOk());
  const Status failed = runProcess("/bin/sh", {"-c", "exit 3"});
  EXPECT_EQ(failed.code(), Code::kIo);
  EXPECT_NE(failed.message().find("sh failed (exit code 3)"), std::string::npos) << failed.message();
  EXPECT_EQ(runProcess("/bin/sh", {"-c", "exit 2"}).code(), Code::kInvalidArgument);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string number = std::to_string(signal);
    EXPECT_EQ(runProcess("/bin/sh", {"-c", "exit $((128 + " + number + "))"}).code(), Code::kCancelled) << signal;
    EXPECT_EQ(runProcess("/bin/sh", {"-c", "kill -" + number + " $$"}).code(), Code::kCancelled) << signal;
  }
  const Status killed = runProcess("/bin/sh", {"-c", "kill -KILL $$"});
  EXPECT_EQ(killed.code(), Code::kResourceExhausted);
  EXPECT_NE(killed.message().find("most likely the system ran out of memory. Close"), std::string::npos)
      << killed.message();
  const Status crashed = runProcess("/bin/sh", {"-c", "kill -SEGV $$"});
  EXPECT_EQ(crashed.code(), Code::kInternal);
  EXPECT_NE(crashed.message().find("sh was ended by signal 11 (Segmentation fault)"), std::string::npos)
      << crashed.message();
  EXPECT_EQ(runProcess("/no/such/program", {}).code(), Code::kNotFound);
  EXPECT_EQ(runProcess("/dev/null", {}).code(), Code::kIo);
}

}  // namespace
}  // namespace firn::tools
