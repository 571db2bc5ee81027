#include "runtime/devices/cpu/worker_team.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <thread>

namespace firn::runtime {
namespace {

struct Counts {
  WorkerTeam* team;
  std::vector<uint64_t> runs;  // by thread, written by that thread alone
  uint64_t wrong = 0;
};

void countAndMeet(void* context, uint32_t thread) {
  auto& counts = *static_cast<Counts*>(context);
  for (int round = 0; round < 5; ++round) {
    ++counts.runs[thread];
    counts.team->meet(thread);
    if (thread == 0) {
      for (const uint64_t runs : counts.runs) counts.wrong += runs != counts.runs[0] ? 1 : 0;
    }
    counts.team->meet(thread);
  }
}

void checkTeam(uint32_t threads, bool pin, int jobs) {
  Result<std::unique_ptr<WorkerTeam>> team = WorkerTeam::start(threads, pin);
  ASSERT_TRUE(team) << team.status().toString();
  EXPECT_EQ((*team)->threads(), threads);
  Counts counts{.team = team->get(), .runs = std::vector<uint64_t>(threads)};
  for (int job = 0; job < jobs; ++job) (*team)->run(countAndMeet, &counts);
  EXPECT_EQ(counts.runs, std::vector<uint64_t>(threads, uint64_t{5} * static_cast<uint64_t>(jobs)));
  EXPECT_EQ(counts.wrong, 0U);
}

TEST(WorkerTeamTest, OneThreadIsTheCaller) { checkTeam(1, true, 100); }
TEST(WorkerTeamTest, TwoThreadsPinned) { checkTeam(2, true, 200); }
TEST(WorkerTeamTest, TwoThreadsFree) { checkTeam(2, false, 200); }
TEST(WorkerTeamTest, MoreThreadsThanCpus) { checkTeam(9, true, 30); }
TEST(WorkerTeamTest, StartsAndEndsWithoutAJob) { checkTeam(4, true, 0); }

TEST(WorkerTeamTest, IsUsedFromSeveralThreadsInTurn) {
  Result<std::unique_ptr<WorkerTeam>> team = WorkerTeam::start(2, true);
  ASSERT_TRUE(team);
  Counts counts{.team = team->get(), .runs = std::vector<uint64_t>(2)};
  for (int i = 0; i < 5; ++i) std::thread([&] { (*team)->run(countAndMeet, &counts); }).join();
  EXPECT_EQ(counts.runs, std::vector<uint64_t>(2, 25));
}

TEST(WorkerTeamTest, IdleWorkersSleep) {
  Result<std::unique_ptr<WorkerTeam>> team = WorkerTeam::start(2, true);
  ASSERT_TRUE(team);
  Counts counts{.team = team->get(), .runs = std::vector<uint64_t>(2)};
  (*team)->run(countAndMeet, &counts);
  const auto processCpu = [] {
    timespec spent{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec);
  };
  const auto before = processCpu();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(processCpu() - before, std::chrono::milliseconds(100));
}

void noteRounding(void* context, uint32_t thread) {
  (*static_cast<std::vector<int>*>(context))[thread] = std::fegetround();
}

// The caller's own is the device's to set (runtime/floating_point.h).
TEST(WorkerTeamTest, WorkersRunWithTheDefaultFloatingPoint) {
  std::fesetround(FE_UPWARD);
  Result<std::unique_ptr<WorkerTeam>> team = WorkerTeam::start(2, true);
  std::fesetround(FE_TONEAREST);
  ASSERT_TRUE(team);
  std::vector<int> rounding(2, -1);
  (*team)->run(noteRounding, &rounding);
  EXPECT_EQ(rounding, std::vector<int>(2, FE_TONEAREST));
}

TEST(WorkerTeamTest, WorkersBlockSignalsButNoFaultsOfTheirOwn) {
  auto team = *WorkerTeam::start(2, true);
  sigset_t masks[2];
  team->run([](void* context,
               uint32_t thread) { pthread_sigmask(SIG_SETMASK, nullptr, static_cast<sigset_t*>(context) + thread); },
            masks);
  for (const int sent : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGCHLD}) EXPECT_EQ(sigismember(&masks[1], sent), 1) << sent;
  // One that is blocked kills the process: no handler could say which file was cut short.
  for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL}) EXPECT_EQ(sigismember(&masks[1], fault), 0) << fault;
}

}  // namespace
}  // namespace firn::runtime
