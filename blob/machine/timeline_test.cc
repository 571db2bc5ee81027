// The rules of the event loop, on schedules whose times can be computed by hand. Against stepping through time:
// timeline_oracle_test.cc.
#include "blob/machine/timeline.h"

#include <deque>

#include <gtest/gtest.h>

#include "base/concat.h"
#include "blob/machine/sample_machine_for_test.h"

namespace firn::machine {
namespace {

/// Queues of the sample machine: dma 0 and 1, dpu 2 and 3, shave 4 and 5. An engine moves 64 bytes per ns, DDR 80.
class TimelineTest : public testing::Test {
 protected:
  /// A task with its own waits and signals; deques keep them in place.
  void add(uint16_t queue, Work work, std::vector<Wait> waits = {}, std::vector<uint16_t> signals = {}) {
    tasks.push_back({queue, work, waits_.emplace_back(std::move(waits)), signals_.emplace_back(std::move(signals))});
  }
  void addFixed(uint16_t queue, uint64_t picoseconds, std::vector<Wait> waits = {},
                std::vector<uint16_t> signals = {}) {
    add(queue, {.fixedPicoseconds = picoseconds}, std::move(waits), std::move(signals));
  }

  Timeline run() const {
    auto timeline = runTimeline(machine, tasks);
    EXPECT_TRUE(timeline.isOk()) << timeline.status().message();
    if (timeline.isOk()) return *std::move(timeline);
    Timeline none;
    none.tasks.resize(tasks.size());
    none.queues.resize(6);
    return none;
  }
  std::string refusal() const { return runTimeline(machine, tasks).status().toString(); }

  Machine machine = sampleMachine();
  std::vector<TimelineTask> tasks;

 private:
  std::deque<std::vector<Wait>> waits_;
  std::deque<std::vector<uint16_t>> signals_;
};

void expectInterval(const Interval& interval, uint64_t begin, uint64_t end) {
  EXPECT_EQ(interval.begin, begin);
  EXPECT_EQ(interval.end, end);
}

TEST_F(TimelineTest, NoTasks) {
  const Timeline timeline = run();
  EXPECT_EQ(timeline.picoseconds, 0);
  EXPECT_EQ(timeline.queues.size(), 6);
}

TEST_F(TimelineTest, AQueueRunsInOrderAndQueuesRunSideBySide) {
  addFixed(2, 100);
  addFixed(4, 30);
  addFixed(2, 50);
  const Timeline timeline = run();
  expectInterval(timeline.tasks[0], 0, 100);
  expectInterval(timeline.tasks[1], 0, 30);
  expectInterval(timeline.tasks[2], 100, 150);
  EXPECT_EQ(timeline.order, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(timeline.picoseconds, 150);
  EXPECT_EQ(timeline.queues[2].busy, 150);
  EXPECT_EQ(timeline.queues[4].idle, 120);
  EXPECT_EQ(timeline.queues[5].idle, 150);
}

/// 6400 bytes take an engine alone 100 ns; beside another one it moves 40 bytes per ns.
TEST_F(TimelineTest, RatesOfDdrAreThoseOfEachMoment) {
  add(0, {.fixedPicoseconds = 10'000, .ddrBytes = 6400});
  add(1, {.fixedPicoseconds = 60'000, .ddrBytes = 2000});
  const Timeline timeline = run();
  ASSERT_EQ(timeline.ddrRates.size(), 4);
  const uint64_t times[] = {10'000, 60'000, 110'000, timeline.picoseconds};
  const uint64_t rates[] = {64'000, 80'000, 64'000, 0};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(timeline.ddrRates[i].time, times[i]);
    EXPECT_EQ(timeline.ddrRates[i].megabytesPerSecond, rates[i]);
  }
}

TEST_F(TimelineTest, BarriersCount) {
  addFixed(2, 100, {}, {3});
  addFixed(3, 70, {}, {3});
  addFixed(4, 10, {{.barrier = 3, .count = 2}}, {5});
  addFixed(5, 10, {{.barrier = 3, .count = 1}, {.barrier = 5, .count = 1}});
  addFixed(3, 10, {{.barrier = 3, .count = 1}});
  const Timeline timeline = run();
  expectInterval(timeline.tasks[2], 100, 110);
  expectInterval(timeline.tasks[3], 110, 120);
  expectInterval(timeline.tasks[4], 70, 80);
  EXPECT_EQ(timeline.queues[4].barrierWait, 100);
  EXPECT_EQ(timeline.queues[5].barrierWait, 110);
  EXPECT_EQ(timeline.queues[4].idle, 10);
  EXPECT_EQ(timeline.order, (std::vector<uint32_t>{0, 1, 4, 2, 3}));
}

TEST_F(TimelineTest, ABarrierIsUsedAgainWithAHigherCount) {
  addFixed(2, 10, {}, {0});
  addFixed(4, 10, {{.barrier = 0, .count = 1}}, {1});
  addFixed(2, 10, {{.barrier = 1, .count = 1}}, {0});
  addFixed(4, 10, {{.barrier = 0, .count = 2}});
  EXPECT_EQ(run().picoseconds, 40);
}

TEST_F(TimelineTest, ADmaWaitsItsLatencyThenMovesAtItsOwnRate) {
  add(0, dmaWork(machine, 64'000, true));
  add(1, dmaWork(machine, 6400, false));
  const Timeline timeline = run();
  expectInterval(timeline.tasks[0], 0, 100'000 + 1'000'000);
  expectInterval(timeline.tasks[1], 0, 20'000 + 100'000);
  EXPECT_EQ(timeline.ddrBytes, 64'000);
  EXPECT_EQ(timeline.queues[0].ddrBytes, 64'000);
  EXPECT_EQ(timeline.queues[0].bandwidthWait, 0);
}

TEST_F(TimelineTest, TwoTransfersShareDdr) {
  add(0, dmaWork(machine, 64'000, true));
  add(1, dmaWork(machine, 64'000, true));
  const Timeline timeline = run();  // 40 bytes per ns each
  expectInterval(timeline.tasks[0], 0, 100'000 + 1'600'000);
  expectInterval(timeline.tasks[1], 0, 100'000 + 1'600'000);
  EXPECT_EQ(timeline.queues[1].bandwidthWait, 600'000);
  EXPECT_EQ(timeline.queues[1].busy, 1'700'000);
}

TEST_F(TimelineTest, TheRestIsFasterWhenTheOtherHasEnded) {
  add(0, dmaWork(machine, 40'000, true));
  add(1, dmaWork(machine, 72'000, true));
  const Timeline timeline = run();  // together for 1 us, then 32,000 bytes at 64
  expectInterval(timeline.tasks[0], 0, 1'100'000);
  expectInterval(timeline.tasks[1], 0, 1'600'000);
}

TEST_F(TimelineTest, LatencyUsesNoBandwidthAndALaterTransferSlowsTheFirst) {
  addFixed(2, 500'000, {}, {0});
  add(0, dmaWork(machine, 64'000, true));
  add(1, dmaWork(machine, 8000, true), {{.barrier = 0, .count = 1}});
  const Timeline timeline = run();
  // The first alone from 100 to 600 ns: 32,000 bytes. Both for 200 ns: 8000 each. The last 24,000 alone: 375 ns.
  expectInterval(timeline.tasks[2], 500'000, 800'000);
  expectInterval(timeline.tasks[1], 0, 1'175'000);
  EXPECT_EQ(timeline.queues[0].bandwidthWait, 75'000);
  EXPECT_EQ(timeline.queues[1].barrierWait, 500'000);
}

TEST_F(TimelineTest, CopiesWithinCmxDoNotShareDdr) {
  add(0, dmaWork(machine, 64'000, true));
  add(1, dmaWork(machine, 64'000, false));
  const Timeline timeline = run();
  EXPECT_EQ(timeline.tasks[0].end, 1'100'000);
  EXPECT_EQ(timeline.tasks[1].end, 1'020'000);
}

TEST_F(TimelineTest, SlowMemoryHoldsOneEngine) {
  machine.ddrMegabytesPerSecond = 32'000;
  add(0, dmaWork(machine, 64'000, true));
  const Timeline timeline = run();
  EXPECT_EQ(timeline.picoseconds, 100'000 + 2'000'000);
  EXPECT_EQ(timeline.queues[0].bandwidthWait, 1'000'000);
}

TEST_F(TimelineTest, UnevenSharesAreRoundedUpOnce) {
  machine.ddrMegabytesPerSecond = 1'000;
  machine.dmaEngines = 3;
  for (uint16_t queue = 0; queue < 3; ++queue) add(queue, {.ddrBytes = 1});
  const Timeline timeline = run();  // 333.3 bytes per us each
  for (const Interval& interval : timeline.tasks) EXPECT_EQ(interval.end, 3001);
}

TEST_F(TimelineTest, TasksOfNoLengthComeAfterThoseTheyWaitFor) {
  addFixed(2, 0, {{.barrier = 0, .count = 1}}, {1});
  addFixed(5, 0, {}, {0});
  add(0, {.fixedPicoseconds = 0}, {{.barrier = 1, .count = 1}});
  const Timeline timeline = run();
  EXPECT_EQ(timeline.picoseconds, 0);
  EXPECT_EQ(timeline.order, (std::vector<uint32_t>{1, 0, 2}));
}

TEST_F(TimelineTest, TiesStartInTheOrderOfQueues) {
  addFixed(5, 10);
  addFixed(2, 10);
  addFixed(3, 10);
  EXPECT_EQ(run().order, (std::vector<uint32_t>{1, 2, 0}));
}

TEST_F(TimelineTest, BytesOfOtherEnginesTakeNoTime) {
  add(4, {.fixedPicoseconds = 10, .ddrBytes = 100, .cmxBytes = 100});
  const Timeline timeline = run();
  EXPECT_EQ(timeline.picoseconds, 10);
  EXPECT_EQ(timeline.ddrBytes, 100);
}

TEST_F(TimelineTest, NothingRunsWhileTheCallIsStarted) {
  machine.callStartNs = 2;
  add(0, dmaWork(machine, 64'000, true), {}, {0});
  addFixed(2, 500, {{.barrier = 0, .count = 1}});
  addFixed(3, 700);
  const Timeline timeline = run();
  expectInterval(timeline.tasks[0], 2000, 2000 + 1'100'000);
  expectInterval(timeline.tasks[1], 1'102'000, 1'102'500);
  expectInterval(timeline.tasks[2], 2000, 2700);
  EXPECT_EQ(timeline.picoseconds, 1'102'500);
  EXPECT_EQ(timeline.queues[2].barrierWait, 1'100'000);
  EXPECT_EQ(timeline.queues[2].idle, 2000);
  EXPECT_EQ(timeline.queues[5].idle, timeline.picoseconds);
  for (const QueueTime& queue : timeline.queues) {
    EXPECT_EQ(queue.busy + queue.barrierWait + queue.idle, timeline.picoseconds);
  }
}

TEST_F(TimelineTest, ADeadlockNamesTheTasksThatWait) {
  addFixed(2, 10);
  addFixed(2, 10, {{.barrier = 1, .count = 1}}, {2});
  addFixed(4, 10, {{.barrier = 2, .count = 1}}, {1});
  EXPECT_EQ(refusal(),
            "internal: deadlock: 1 of 3 tasks ran; task 1 (dpu 0) waits for barrier 1 to reach 1, it is at 0; "
            "task 2 (shave 0) waits for barrier 2 to reach 1, it is at 0");
}

TEST_F(TimelineTest, RefusesWhatTheMachineLacks) {
  addFixed(6, 10);
  EXPECT_EQ(refusal(), "internal: task 0: found queue 6, expected one of the machine's 6");
  tasks.clear();
  addFixed(0, 10, {}, {16});
  EXPECT_EQ(refusal(), "internal: task 0: found a barrier above 15, the machine's last");
  tasks.clear();
  addFixed(0, 10, {{.barrier = 16, .count = 0}});
  EXPECT_EQ(refusal(), "internal: task 0: found a barrier above 15, the machine's last");
}

TEST_F(TimelineTest, RefusesTimesThatDoNotFit) {
  addFixed(2, kMostPicoseconds);
  EXPECT_EQ(run().picoseconds, kMostPicoseconds);
  addFixed(2, 1);
  EXPECT_EQ(refusal(), "internal: the tasks take longer than 26 days");
  tasks.clear();
  addFixed(2, UINT64_MAX);
  EXPECT_EQ(refusal(), "internal: the tasks take longer than 26 days");
  tasks.clear();
  add(0, {.ddrBytes = UINT64_MAX});
  EXPECT_EQ(refusal(), "internal: the tasks take longer than 26 days");
}

/// 100,000 tasks in a pipeline of copy, multiply, kernel on both tiles: the copies decide, so the time is known.
TEST_F(TimelineTest, ManyTasks) {
  constexpr uint32_t kRounds = 16'667;
  for (uint32_t round = 1; round <= kRounds; ++round) {
    for (uint16_t tile = 0; tile < 2; ++tile) {
      const auto copied = tile;
      const auto multiplied = static_cast<uint16_t>(2 + tile);
      add(tile, dmaWork(machine, 4000, true), {}, {copied});
      addFixed(2 + tile, 50'000, {{.barrier = copied, .count = round}}, {multiplied});
      addFixed(4 + tile, 60'000, {{.barrier = multiplied, .count = round}});
    }
  }
  const Timeline timeline = run();
  EXPECT_EQ(timeline.picoseconds, kRounds * 200'000ULL + 110'000);  // 100 ns latency, 4000 bytes at 40 per ns
  EXPECT_EQ(timeline.ddrBytes, kRounds * 8000ULL);
  for (const QueueTime& queue : timeline.queues) {
    EXPECT_EQ(queue.busy + queue.barrierWait + queue.idle, timeline.picoseconds);
  }
}

}  // namespace
}  // namespace firn::machine
