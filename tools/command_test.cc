#include "tools/command.h"

#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace firn::tools {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kWorkedToItsEnd = 7;

/// A process that works for half a second and heeds no interrupt, as within a long chunk of a prompt.
class Busy {
 public:
  /// In a session of its own on a terminal of its own.
  Busy() {
    EXPECT_EQ(pipe(told_), 0);
    process_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (process_ == 0) work();
    wait();  // until it catches
  }

  /// What a Ctrl-C does.
  void type() const { EXPECT_EQ(write(terminal_, "\x03", 1), 1); }
  void signal(int number) const { EXPECT_EQ(kill(process_, number), 0); }
  /// From another process than this.
  void signalFromAnother(int number) const {
    const pid_t other = fork();
    if (other == 0) _exit(kill(process_, number) == 0 ? 0 : 1);
    EXPECT_EQ(waitpid(other, nullptr, 0), other);
  }
  /// Until it has seen the first.
  void wait() const {
    char byte = 0;
    EXPECT_EQ(read(told_[0], &byte, 1), 1);
  }
  int exitCode() const {
    int state = 0;
    EXPECT_EQ(waitpid(process_, &state, 0), process_);
    close(terminal_);
    close(told_[0]);
    close(told_[1]);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  }

 private:
  [[noreturn]] void work() const {
    // A test program in the background may have inherited that they are ignored.
    for (const int signal : kInterrupts) std::signal(signal, SIG_DFL);
    catchInterrupts();
    bool isTold = write(told_[1], "c", 1) != 1;
    for (const auto end = Clock::now() + milliseconds(500); Clock::now() < end;) {
      std::this_thread::sleep_for(milliseconds(1));
      if (interrupted().load() && !isTold) isTold = write(told_[1], "i", 1) == 1;
    }
    _exit(kWorkedToItsEnd);
  }

  int told_[2] = {-1, -1};
  int terminal_ = -1;
  pid_t process_ = -1;
};

TEST(CommandTest, ASecondInterruptEndsAtOnce) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Busy busy;
    busy.signal(signal);
    busy.wait();
    std::this_thread::sleep_for(milliseconds(50));
    busy.signal(signal);
    EXPECT_EQ(busy.exitCode(), kExitOfSignal + signal);
  }
  const Busy busy;
  busy.type();
  busy.wait();
  std::this_thread::sleep_for(milliseconds(50));
  busy.type();
  EXPECT_EQ(busy.exitCode(), kExitOfSignal + SIGINT);
}

TEST(CommandTest, WhatReachesAProcessTwiceIsOneInterrupt) {
  const Busy relayed;  // the terminal's, and that which the parent passes on
  relayed.type();
  relayed.wait();
  std::this_thread::sleep_for(milliseconds(50));
  relayed.signal(SIGINT);
  EXPECT_EQ(relayed.exitCode(), kWorkedToItsEnd);
  const Busy grouped;  // of `timeout`
  grouped.signal(SIGTERM);
  grouped.signal(SIGTERM);
  EXPECT_EQ(grouped.exitCode(), kWorkedToItsEnd);
  const Busy closed;  // a terminal's end, and that of its shell
  closed.signal(SIGHUP);
  closed.wait();
  std::this_thread::sleep_for(milliseconds(50));
  closed.signal(SIGHUP);
  EXPECT_EQ(closed.exitCode(), kWorkedToItsEnd);
}

TEST(CommandTest, AnotherSendersLaterInterruptIsASecond) {
  const Busy busy;
  busy.type();
  busy.wait();
  std::this_thread::sleep_for(milliseconds(280));
  busy.signalFromAnother(SIGTERM);
  EXPECT_EQ(busy.exitCode(), kExitOfSignal + SIGTERM);
}

}  // namespace
}  // namespace firn::tools
