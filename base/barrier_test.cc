#include "base/barrier.h"

#include <gtest/gtest.h>
#include <time.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "base/cpus.h"

namespace firn {
namespace {

// Every thread writes its own plain slot, meets, and must read what all others wrote in the same round; the thread
// sanitizer sees a race if the barrier orders nothing.
void checkRounds(uint32_t threads, const SpinPolicy& policy, uint32_t rounds) {
  FlagBarrier barrier(threads, policy);
  std::vector<std::array<uint32_t, 32>> slots(threads);
  std::vector<uint32_t> wrong(threads, 0);
  std::vector<std::thread> team;
  for (uint32_t self = 0; self < threads; ++self) {
    team.emplace_back([&, self] {
      for (uint32_t round = 1; round <= rounds; ++round) {
        slots[self][0] = round;
        barrier.arrive(self);
        for (uint32_t other = 0; other < threads; ++other) wrong[self] += slots[other][0] != round;
        barrier.arrive(self);
      }
    });
  }
  for (std::thread& thread : team) thread.join();
  for (uint32_t self = 0; self < threads; ++self) EXPECT_EQ(wrong[self], 0U) << "thread " << self;
}

TEST(FlagBarrierTest, OrdersTwoThreads) { checkRounds(2, SpinPolicy{}, 2000); }
TEST(FlagBarrierTest, OrdersMoreThreadsThanCpus) { checkRounds(7, SpinPolicy::oversubscribed(), 300); }
TEST(FlagBarrierTest, OrdersThreadsThatOnlySleep) { checkRounds(3, SpinPolicy{.pauses = 0, .yields = 0}, 500); }
TEST(FlagBarrierTest, OneThreadNeverWaits) { checkRounds(1, SpinPolicy{}, 10); }

TEST(WaitWordTest, SleeperUsesNoCpuAndIsWoken) {
  WaitWord word;
  int64_t cpuNanoseconds = -1;
  std::thread sleeper([&] {
    word.waitFor(1, SpinPolicy{});
    timespec spent{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    cpuNanoseconds = spent.tv_sec * 1'000'000'000LL + spent.tv_nsec;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  word.raise();
  sleeper.join();
  EXPECT_GE(cpuNanoseconds, 0);
  EXPECT_LT(cpuNanoseconds, 100'000'000) << "a waiting thread kept spinning";
}

TEST(CpusTest, PinAndMoveKeepToTheMask) {
  const std::vector<uint32_t> cpus = allowedCpus();
  ASSERT_FALSE(cpus.empty());
  std::thread([&] {
    moveThisThread(cpus.back());
    EXPECT_EQ(allowedCpus(), cpus) << "moving must not narrow the mask";
    ASSERT_TRUE(pinThisThread(cpus.front()));
    EXPECT_EQ(allowedCpus(), std::vector<uint32_t>{cpus.front()});
    EXPECT_FALSE(pinThisThread(1U << 20));
  }).join();
}

}  // namespace
}  // namespace firn
