#include "tools/command.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace firn::tools {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kWorkedToItsEnd = 7;

/// A process that works for 20 seconds and heeds no interrupt, as within a long chunk of a prompt.
class BusyTest : public testing::Test {
 protected:
  /// In a session of its own on a terminal of its own.
  void SetUp() override {
    ASSERT_EQ(pipe(told_), 0);
    process_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (process_ == 0) work();
    ASSERT_GT(process_, 0) << "no terminal or no process: " << std::strerror(errno);
    close(told_[1]);  // so that a read ends when the process does
    wait();           // until it catches
  }
  ~BusyTest() override {
    if (process_ > 0) {  // a test that failed
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    if (terminal_ >= 0) close(terminal_);
    close(told_[0]);
  }

  /// What a Ctrl-C does.
  void type() const { EXPECT_EQ(write(terminal_, "\x03", 1), 1); }
  /// Until it has seen the first.
  void wait() const {
    char byte = 0;
    EXPECT_EQ(read(told_[0], &byte, 1), 1);
  }
  int exitCode() {
    int state = 0;
    EXPECT_EQ(waitpid(process_, &state, 0), process_);
    process_ = -1;
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  }

 private:
  [[noreturn]] void work() const {
    // A test program in the background may have inherited that they are ignored.
    for (const int signal : kInterrupts) std::signal(signal, SIG_DFL);
    catchInterrupts();
    bool isTold = write(told_[1], "c", 1) != 1;
    for (const auto end = Clock::now() + std::chrono::seconds(20); Clock::now() < end;) {
      std::this_thread::sleep_for(milliseconds(1));
      if (interrupted().load() && !isTold) isTold = write(told_[1], "i", 1) == 1;
    }
    _exit(kWorkedToItsEnd);
  }

  int told_[2] = {-1, -1};
  int terminal_ = -1;
  pid_t process_ = -1;
};

// However late a busy machine lets it run, the second comes more than 30 ms behind the first.
TEST_F(BusyTest, ASecondInterruptEndsAtOnce) {
  type();
  wait();
  std::this_thread::sleep_for(milliseconds(100));
  type();
  EXPECT_EQ(exitCode(), kExitOfSignal + SIGINT);
}

constexpr int64_t kTerminal = 0;
constexpr int64_t kParent = 71;
constexpr int64_t kOther = 72;

TEST(InterruptTest, WhatOneSenderSendsTwiceAtOnceIsOne) {
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const int64_t sender : {kTerminal, kParent}) {
      EXPECT_TRUE(isRepeat(signal, {1000, sender}, {1000, sender}));
      EXPECT_TRUE(isRepeat(signal, {1000, sender}, {1029, sender}));
      EXPECT_FALSE(isRepeat(signal, {1000, sender}, {1030, sender})) << "a key pressed twice";
    }
  }
}

TEST(InterruptTest, WhatTwoSendersSendCloseTogetherIsOne) {
  for (const int signal : kInterrupts) {
    for (const auto [first, later] : {std::pair(kTerminal, kParent), {kParent, kTerminal}, {kParent, kOther}}) {
      EXPECT_TRUE(isRepeat(signal, {1000, first}, {1249, later}));
      EXPECT_FALSE(isRepeat(signal, {1000, first}, {1250, later}));
    }
  }
}

TEST(InterruptTest, AHangUpIsOneWhoeverSendsIt) {
  for (const int64_t later : {kTerminal, kParent}) {
    EXPECT_TRUE(isRepeat(SIGHUP, {1000, kTerminal}, {1249, later}));
    EXPECT_FALSE(isRepeat(SIGHUP, {1000, kTerminal}, {1250, later}));
  }
}

}  // namespace
}  // namespace firn::tools
