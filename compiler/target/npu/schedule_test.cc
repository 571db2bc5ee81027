#include "compiler/target/npu/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "compiler/target/npu/execution_for_test.h"
#include "compiler/target/npu/plans_for_test.h"
#include "compiler/target/npu/schedule_program.h"

namespace firn::target {
namespace {

/// When each task of a schedule runs.
std::vector<machine::Interval> timesOf(const Plan& plan, const machine::Machine& machine, const Schedule& schedule) {
  std::vector<machine::TimelineTask> tasks;
  std::vector<uint32_t> numbers;
  for (uint32_t queue = 0; queue < schedule.queues.size(); ++queue) {
    for (const uint32_t task : schedule.queues[queue]) {
      tasks.push_back(
          {static_cast<uint16_t>(queue), plan.tasks[task].work, schedule.waits[task], schedule.signals[task]});
      numbers.push_back(task);
    }
  }
  const auto timeline = machine::runTimeline(machine, tasks);
  EXPECT_EQ(timeline->picoseconds, schedule.picoseconds);
  std::vector<machine::Interval> times(plan.tasks.size());
  for (size_t i = 0; i < numbers.size(); ++i) times[numbers[i]] = timeline->tasks[i];
  return times;
}

TEST(ScheduleTest, DecodeLoadsWithoutAPause) {
  const machine::Machine machine = sixTileMachine();
  const Plan plan = decodePlan(machine, {});
  const auto schedule = schedulePlan(plan, machine);
  ASSERT_TRUE(schedule.isOk()) << schedule.status().toString();
  EXPECT_EQ(checkProgram(programOf(plan, *schedule, machine)).message(), "");
  const std::vector<machine::Interval> times = timesOf(plan, machine, *schedule);
  double loaded = 0;
  uint64_t end = 0;
  for (size_t i = 0; i < plan.tasks.size(); ++i) {
    if (!plan.tasks[i].name.starts_with("load")) continue;
    loaded += static_cast<double>(plan.tasks[i].work.ddrBytes);
    end = std::max(end, times[i].end);
  }
  const double atFullRate = loaded / machine.ddrMegabytesPerSecond * 1e6;
  EXPECT_GE(atFullRate, 0.975 * static_cast<double>(end));
  EXPECT_LE(static_cast<double>(schedule->picoseconds - end), 10e6) << "what follows the last load takes long";
}

TEST(ScheduleTest, PrefillKeepsTheDpusBusy) {
  const machine::Machine machine = sixTileMachine();
  const Plan plan = prefillPlan(machine, 64);
  const auto schedule = schedulePlan(plan, machine);
  ASSERT_TRUE(schedule.isOk()) << schedule.status().toString();
  EXPECT_EQ(checkProgram(programOf(plan, *schedule, machine)).message(), "");
  double busy = 0;
  for (const PlanTask& task : plan.tasks) {
    if (task.engine == machine::Engine::kDpu) busy += static_cast<double>(task.work.fixedPicoseconds);
  }
  EXPECT_GE(busy / machine.tiles, 0.95 * static_cast<double>(schedule->picoseconds));
}

TEST(ScheduleTest, TheSamePlanGivesTheSameSchedule) {
  const machine::Machine machine = smallMachine(2);
  const Plan plan = randomPlan(machine, {.seed = 3, .tasks = 200, .liveBuffers = 4});
  const auto first = schedulePlan(plan, machine);
  const auto second = schedulePlan(plan, machine);
  ASSERT_TRUE(first.isOk() && second.isOk());
  EXPECT_EQ(first->addresses, second->addresses);
  EXPECT_EQ(first->queues, second->queues);
  EXPECT_EQ(first->signals, second->signals);
  EXPECT_EQ(first->picoseconds, second->picoseconds);
}

TEST(ScheduleTest, AnEmptyPlanIsASchedule) {
  const auto schedule = schedulePlan({}, smallMachine(1));
  ASSERT_TRUE(schedule.isOk());
  EXPECT_EQ(schedule->picoseconds, 0U);
  EXPECT_EQ(schedule->queues.size(), 4U);
}

TEST(ScheduleTest, SaysWhatDoesNotFit) {
  Plan plan;
  plan.buffers = {{"large", 9000, 1, false}};
  plan.tasks = {{"load", machine::Engine::kDma, 0, {}, {{.buffer = 0, .isWrite = true, .tiles = 1, .bytes = 9000}}}};
  EXPECT_EQ(schedulePlan(plan, smallMachine(1)).status().message(),
            "task 'load' (1 of 1) needs 9024 bytes for 'large' in the CMX of tile 0, where 0 of 8192 bytes are in use "
            "(nothing) and no free stretch is long enough, and nothing is moved out to make room; compile for smaller "
            "prefill chunks, for a machine with more CMX, or for another device");
}

TEST(ScheduleTest, AnyExecutionOfRandomPlansGivesTheProgramsValues) {
  std::mt19937 random(1);
  uint32_t scheduled = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const machine::Machine machine = smallMachine(1 + seed % 4);
    const Plan plan = randomPlan(machine, {.seed = seed, .tasks = 20 + 2 * seed, .liveBuffers = 2 + seed % 9});
    const auto schedule = schedulePlan(plan, machine);
    if (!schedule && schedule.status().code() == Code::kResourceExhausted) continue;
    ASSERT_TRUE(schedule.isOk()) << seed << ": " << schedule.status().toString();
    ++scheduled;
    const CheckProgram program = programOf(plan, *schedule, machine);
    ASSERT_EQ(checkProgram(program).message(), "") << seed;
    const Digests expected = sequentialDigests(program);
    for (int run = 0; run < 4; ++run) {
      const auto found = randomDigests(program, random);
      ASSERT_TRUE(found.has_value()) << seed << " deadlocks";
      ASSERT_EQ(*found, expected) << seed;
    }
  }
  EXPECT_GE(scheduled, 50U);
}

TEST(ScheduleTest, TenThousandTasksAreRight) {
  const machine::Machine machine = sixTileMachine();
  const Plan plan = decodePlan(machine, {.weightTiles = 3000, .chainEvery = 40});
  const auto schedule = schedulePlan(plan, machine);
  ASSERT_TRUE(schedule.isOk()) << schedule.status().toString();
  EXPECT_EQ(checkProgram(programOf(plan, *schedule, machine)).message(), "");
}

}  // namespace
}  // namespace firn::target
