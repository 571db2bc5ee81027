#include "compiler/target/npu/task_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/concat.h"
#include "compiler/target/npu/buffer_placement.h"
#include "compiler/target/npu/plans_for_test.h"

namespace firn::target {
namespace {

using machine::Engine;

TaskOrder ordered(const Plan& plan, const machine::Machine& machine) {
  const auto placements = placeBuffers(plan, machine);
  EXPECT_TRUE(placements.isOk()) << placements.status().message();
  return orderTasks(plan, dependenciesOf(plan, placements->front().addresses), machine);
}

TEST(TaskOrderTest, EveryTaskStandsOnceInAQueueOfItsEngine) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    const machine::Machine machine = smallMachine(2);
    const Plan plan = randomPlan(machine, {.seed = seed, .tasks = 120, .liveBuffers = 4});
    const auto placements = placeBuffers(plan, machine);
    if (!placements) continue;
    const Dependencies dependencies = dependenciesOf(plan, placements->front().addresses);
    const TaskOrder order = orderTasks(plan, dependencies, machine);
    ASSERT_EQ(order.starts.size(), plan.tasks.size());
    std::vector<uint32_t> startedAt(plan.tasks.size(), UINT32_MAX);
    for (uint32_t i = 0; i < order.starts.size(); ++i) startedAt[order.starts[i]] = i;
    for (uint32_t task = 0; task < plan.tasks.size(); ++task) {
      const machine::QueueOwner owner = machine::ownerOf(machine, order.queueOf[task]);
      ASSERT_EQ(owner.engine, plan.tasks[task].engine);
      if (owner.engine != Engine::kDma) ASSERT_EQ(owner.index, plan.tasks[task].tile);
      ASSERT_EQ(std::count(order.queues[order.queueOf[task]].begin(), order.queues[order.queueOf[task]].end(), task),
                1);
      for (const uint32_t earlier : dependencies.of(task)) ASSERT_LT(startedAt[earlier], startedAt[task]);
    }
    for (const std::vector<uint32_t>& queue : order.queues) {
      for (size_t i = 1; i < queue.size(); ++i) ASSERT_LT(startedAt[queue[i - 1]], startedAt[queue[i]]);
    }
  }
}

/// Loads for later are ready all the time; what DPU made and waits for goes between them.
TEST(TaskOrderTest, ActivationsOvertakeLoadsForLater) {
  machine::Machine machine = smallMachine(2);
  machine.cmxBytes = 1 << 20;
  Plan plan;
  plan.buffers = {{"made", 4096, 1, false}, {"sent", 4096, 2, false}};
  const auto access = [&](uint32_t buffer, bool isWrite) {
    return PlanAccess{
        .buffer = buffer, .isWrite = isWrite, .tiles = plan.buffers[buffer].tiles, .bytes = plan.buffers[buffer].bytes};
  };
  for (uint32_t i = 0; i < 20; ++i) {  // weights that a hoisting plan loads first, for the last task
    plan.buffers.push_back({concat("weights ", i), 40960, 1, false});
    plan.tasks.push_back(
        {concat("load ", i), Engine::kDma, 0, machine::dmaWork(machine, 40960, true), {access(2 + i, true)}});
  }
  plan.tasks.push_back({"make", Engine::kDpu, 0, {1'000'000, 0, 0}, {access(0, true)}});
  plan.tasks.push_back(
      {"send", Engine::kDma, 0, machine::dmaWork(machine, 4096, false), {access(0, false), access(1, true)}});
  plan.tasks.push_back({"use", Engine::kDpu, 1, {1'000'000, 0, 0}, {access(1, false)}});
  PlanTask last{"last", Engine::kDpu, 0, {1'000'000, 0, 0}, {}};
  for (uint32_t i = 0; i < 20; ++i) last.accesses.push_back(access(2 + i, false));
  plan.tasks.push_back(last);

  const TaskOrder order = ordered(plan, machine);
  const auto at = [&](uint32_t task) {
    return std::find(order.starts.begin(), order.starts.end(), task) - order.starts.begin();
  };
  EXPECT_LT(at(21), 8) << "the send waits behind loads";
  EXPECT_LT(at(22), at(19));
}

/// Two engines that start tasks of little more than a latency at once would leave DDR idle.
TEST(TaskOrderTest, ShortTransfersHideBehindLongOnes) {
  machine::Machine machine = sixTileMachine();
  Plan plan;
  for (uint32_t i = 0; i < 64; ++i) {
    const uint64_t bytes = i < 32 ? 64 : 30'000 + i * 1000;
    plan.buffers.push_back({concat("b", i), bytes, uint64_t{1} << i % 6, false});
    plan.tasks.push_back({concat("load ", i),
                          Engine::kDma,
                          0,
                          machine::dmaWork(machine, bytes, true),
                          {{.buffer = i, .isWrite = true, .tiles = uint64_t{1} << i % 6, .bytes = bytes}}});
  }
  const TaskOrder order = ordered(plan, machine);
  // Bytes, and 300 ns for each task, of which DDR loses little: the other engine moves 62 GB/s while one does not.
  const double latencies = 64 * 0.3e6;
  const double bytes = 32 * 77'564;
  EXPECT_LT(order.picoseconds, 1.02 * (latencies + (bytes - latencies * 0.062) / 0.068));
}

/// Long loads that begin in turn never leave a gap as long as a short one would like to have.
TEST(TaskOrderTest, AShortTransferThatIsNeededFirstIsNotPassedOverForEver) {
  const machine::Machine machine = sixTileMachine();
  Plan plan;
  const auto load = [&](uint64_t bytes) {
    const auto buffer = static_cast<uint32_t>(plan.buffers.size());
    plan.buffers.push_back({concat("b", buffer), bytes, 1, false});
    const PlanAccess write = {.buffer = buffer, .isWrite = true, .tiles = 1, .bytes = bytes};
    plan.tasks.push_back({concat("load ", buffer), Engine::kDma, 0, machine::dmaWork(machine, bytes, true), {write}});
  };
  const auto use = [&](uint32_t first, uint32_t end) {
    PlanTask task{"use", Engine::kShave, 0, {1'000'000, 0, 0}, {}};
    for (uint32_t i = first; i < end; ++i) {
      task.accesses.push_back({.buffer = i, .tiles = 1, .bytes = plan.buffers[i].bytes});
    }
    plan.tasks.push_back(task);
  };
  load(20'000);
  load(30'000);
  use(0, 2);
  load(64);  // task 3
  use(2, 3);
  for (int i = 0; i < 40; ++i) load(20'000);
  use(3, 43);
  const TaskOrder order = ordered(plan, machine);
  EXPECT_LT(std::ranges::find(order.starts, 3U) - order.starts.begin(), 10);
}

TEST(TaskOrderTest, OneDmaEngineTakesThemInTurn) {
  machine::Machine machine = smallMachine(1);
  machine.dmaEngines = 1;
  const Plan plan = randomPlan(machine, {.seed = 4, .tasks = 60, .liveBuffers = 3});
  const TaskOrder order = ordered(plan, machine);
  EXPECT_EQ(order.starts.size(), 60U);
  EXPECT_EQ(order.queues.size(), 3U);
}

}  // namespace
}  // namespace firn::target
