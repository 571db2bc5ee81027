#include "compiler/target/npu/barriers.h"

#include <gtest/gtest.h>

#include "base/concat.h"
#include "compiler/target/npu/buffer_placement.h"
#include "compiler/target/npu/plans_for_test.h"

namespace firn::target {
namespace {

struct Synchronized {
  Plan plan;
  Dependencies dependencies;
  TaskOrder order;
  Synchronization barriers;
};

Synchronized synchronized(Plan plan, const machine::Machine& machine) {
  const auto placements = placeBuffers(plan, machine);
  EXPECT_TRUE(placements.isOk()) << placements.status().message();
  Synchronized result;
  result.plan = std::move(plan);
  result.dependencies = dependenciesOf(result.plan, placements->front().addresses);
  result.order = orderTasks(result.plan, result.dependencies, machine);
  auto barriers = synchronize(result.dependencies, result.order, machine);
  EXPECT_TRUE(barriers.isOk()) << barriers.status().message();
  result.barriers = std::move(*barriers);
  return result;
}

using Matrix = std::vector<std::vector<bool>>;

/// What has ended when a task starts: what stands before it in its queue, the first `count` signallers of each barrier
/// that it waits for, and what had ended for those. The waits of `without` are left out, all or one.
Matrix endedBefore(const Synchronized& all, uint32_t without = UINT32_MAX, size_t wait = 0) {
  const size_t tasks = all.plan.tasks.size();
  std::vector<std::vector<uint32_t>> signallers(64);
  for (const std::vector<uint32_t>& queue : all.order.queues) {
    for (const uint32_t task : queue) {
      for (const uint16_t barrier : all.barriers.signals[task]) signallers[barrier].push_back(task);
    }
  }
  Matrix ended(tasks, std::vector<bool>(tasks));
  const auto follow = [&](uint32_t task, uint32_t earlier) {
    ended[task][earlier] = true;
    for (size_t i = 0; i < tasks; ++i) {
      if (ended[earlier][i]) ended[task][i] = true;
    }
  };
  std::vector<uint32_t> last(all.order.queues.size(), UINT32_MAX);
  for (const uint32_t task : all.order.starts) {
    uint32_t& before = last[all.order.queueOf[task]];
    if (before != UINT32_MAX) follow(task, before);
    before = task;
    for (size_t i = 0; i < all.barriers.waits[task].size(); ++i) {
      const machine::Wait& each = all.barriers.waits[task][i];
      if (task == without && i == wait) continue;
      for (uint32_t n = 0; n < each.count; ++n) follow(task, signallers[each.barrier][n]);
    }
  }
  return ended;
}

std::vector<Synchronized> samples() {
  const machine::Machine machine = smallMachine(2);
  std::vector<Synchronized> found;
  found.push_back(synchronized(decodePlan(sixTileMachine(), {.weightTiles = 24, .chainEvery = 8}), sixTileMachine()));
  for (uint32_t seed = 0; seed < 8; ++seed) {
    Plan plan = randomPlan(machine, {.seed = seed, .tasks = 80, .liveBuffers = 3});
    if (placeBuffers(plan, machine).isOk()) found.push_back(synchronized(std::move(plan), machine));
  }
  return found;
}

TEST(BarriersTest, HoldEveryDependency) {
  for (const Synchronized& each : samples()) {
    const Matrix ended = endedBefore(each);
    for (uint32_t task = 0; task < each.plan.tasks.size(); ++task) {
      for (const uint32_t earlier : each.dependencies.of(task)) ASSERT_TRUE(ended[task][earlier]);
    }
  }
}

TEST(BarriersTest, NoWaitIsImpliedByOthers) {
  for (const Synchronized& each : samples()) {
    for (uint32_t task = 0; task < each.plan.tasks.size(); ++task) {
      for (size_t wait = 0; wait < each.barriers.waits[task].size(); ++wait) {
        const Matrix ended = endedBefore(each, task, wait);
        const auto deps = each.dependencies.of(task);
        const bool isHeld =
            std::all_of(deps.begin(), deps.end(), [&](uint32_t earlier) { return ended[task][earlier]; });
        ASSERT_FALSE(isHeld) << each.plan.tasks[task].name;
      }
    }
  }
}

TEST(BarriersTest, OneForEachQueueThatOthersWaitFor) {
  const Synchronized each = synchronized(decodePlan(sixTileMachine(), {}), sixTileMachine());
  std::vector<uint32_t> owner(64, UINT32_MAX);
  for (uint32_t task = 0; task < each.plan.tasks.size(); ++task) {
    ASSERT_LE(each.barriers.signals[task].size(), 1U);
    for (const uint16_t barrier : each.barriers.signals[task]) {
      ASSERT_LT(barrier, 14);
      if (owner[barrier] == UINT32_MAX) owner[barrier] = each.order.queueOf[task];
      ASSERT_EQ(owner[barrier], each.order.queueOf[task]);
    }
  }
}

TEST(BarriersTest, TooFewNameTheQueues) {
  machine::Machine machine = smallMachine(1);
  machine.barriers = 2;
  Plan plan;
  plan.buffers = {{"x", 64, 1, false}};
  for (const machine::Engine engine :
       {machine::Engine::kDma, machine::Engine::kDpu, machine::Engine::kShave, machine::Engine::kDma}) {
    plan.tasks.push_back({"t", engine, 0, {1000, 0, 0}, {{.buffer = 0, .isWrite = true, .tiles = 1, .bytes = 64}}});
  }
  const auto placements = placeBuffers(plan, machine);
  const Dependencies dependencies = dependenciesOf(plan, placements->front().addresses);
  const auto barriers = synchronize(dependencies, orderTasks(plan, dependencies, machine), machine);
  EXPECT_EQ(barriers.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(
      barriers.status().message(),
      "machine small has 2 barriers, but 3 of its queues are waited for by others and need one each (dma 0, dpu 0, "
      "shave 0); give the machine file as many barriers as queues");
}

}  // namespace
}  // namespace firn::target
