#include "compiler/target/npu/buffer_placement.h"

#include <gtest/gtest.h>

#include <set>

#include "base/concat.h"
#include "compiler/target/npu/cmx_scan.h"
#include "compiler/target/npu/lifetimes.h"
#include "compiler/target/npu/plans_for_test.h"

namespace firn::target {
namespace {

/// Every two buffers that are alive together and share a memory lie apart; all in bounds and aligned.
void expectSound(const Plan& plan, const machine::Machine& machine, const BufferPlacement& placement) {
  const std::vector<Lifetime> lifetimes = lifetimesOf(plan);
  for (size_t a = 0; a < plan.buffers.size(); ++a) {
    if (plan.buffers[a].isFixed || lifetimes[a].isEmpty()) continue;
    const uint64_t begin = placement.addresses[a];
    const uint64_t end = begin + plan.buffers[a].bytes;
    ASSERT_EQ(begin % 64, 0U);
    ASSERT_LE(end, plan.buffers[a].tiles == 0 ? placement.scratchBytes : machine.cmxBytes) << plan.buffers[a].name;
    for (size_t b = 0; b < a; ++b) {
      const bool meet = (plan.buffers[a].tiles & plan.buffers[b].tiles) != 0 ||
                        (plan.buffers[a].tiles == 0 && plan.buffers[b].tiles == 0);
      if (!meet || plan.buffers[b].isFixed || lifetimes[b].isEmpty()) continue;
      if (lifetimes[a].first > lifetimes[b].last || lifetimes[b].first > lifetimes[a].last) continue;
      const bool isApart = end <= placement.addresses[b] || placement.addresses[b] + plan.buffers[b].bytes <= begin;
      ASSERT_TRUE(isApart) << plan.buffers[a].name << " and " << plan.buffers[b].name;
    }
  }
}

/// One task that touches each of the buffers.
void addTask(Plan& plan, std::vector<uint32_t> buffers) {
  PlanTask task;
  task.name = concat("t", plan.tasks.size());
  for (const uint32_t buffer : buffers) {
    task.accesses.push_back(
        {.buffer = buffer, .isWrite = true, .tiles = plan.buffers[buffer].tiles, .bytes = plan.buffers[buffer].bytes});
  }
  plan.tasks.push_back(std::move(task));
}

TEST(BufferPlacementTest, KeepsApartWhatLivesTogether) {
  size_t placed = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const machine::Machine machine = smallMachine(1 + seed % 3);
    const Plan plan = randomPlan(machine, {.seed = seed, .tasks = 150, .liveBuffers = 6});
    const auto placements = placeBuffers(plan, machine);
    if (!placements) continue;
    for (const BufferPlacement& placement : *placements) expectSound(plan, machine, placement);
    placed += placements->size();
  }
  EXPECT_GE(placed, 50U);
}

TEST(BufferPlacementTest, GoesRoundInCmx) {
  const machine::Machine machine = smallMachine(1);
  Plan plan;
  for (uint32_t i = 0; i < 16; ++i) {
    plan.buffers.push_back({concat("w", i), 2048, 1, false});
    addTask(plan, {i});
  }
  const auto placements = placeBuffers(plan, machine);
  ASSERT_TRUE(placements.isOk());
  for (const BufferPlacement& placement : *placements) {
    for (size_t i = 0; i < 16; ++i) {  // each comes back when the three others have been used
      const std::set<uint64_t> last(placement.addresses.begin() + static_cast<int64_t>(i - std::min<size_t>(i, 3)),
                                    placement.addresses.begin() + static_cast<int64_t>(i + 1));
      EXPECT_EQ(last.size(), std::min<size_t>(i, 3) + 1) << i;
    }
  }
}

TEST(BufferPlacementTest, MulticastLiesAtOneOffsetInAllTiles) {
  const machine::Machine machine = smallMachine(2);
  Plan plan;
  plan.buffers = {{"a", 4096, 1, false}, {"b", 2048, 2, false}, {"both", 4096, 3, false}};
  addTask(plan, {0});
  addTask(plan, {1});
  addTask(plan, {0, 1, 2});
  const auto placements = placeBuffers(plan, machine);
  ASSERT_TRUE(placements.isOk()) << placements.status().message();
  for (const BufferPlacement& placement : *placements) expectSound(plan, machine, placement);
}

/// "stays" lies between the two that were alive with it; "late" needs more than either has left.
TEST(BufferPlacementTest, FitsWhereTheScanLeavesHoles) {
  const machine::Machine machine = smallMachine(1);
  Plan plan;
  plan.buffers = {{"a", 3072, 1, false}, {"stays", 2560, 1, false}, {"c", 2048, 1, false}, {"late", 5120, 1, false}};
  addTask(plan, {0, 1, 2});
  addTask(plan, {1, 3});
  std::vector<uint64_t> addresses(4);
  EXPECT_EQ(scanCmx(plan, lifetimesOf(plan), machine.cmxBytes, addresses), 3U);
  const auto placements = placeBuffers(plan, machine);
  ASSERT_TRUE(placements.isOk()) << placements.status().message();
  ASSERT_EQ(placements->size(), 1U);
  expectSound(plan, machine, placements->front());
}

TEST(BufferPlacementTest, SaysWhatFillsATile) {
  const machine::Machine machine = smallMachine(2);
  Plan plan;
  plan.buffers = {
      {"keys", 4096, 2, false}, {"values", 2000, 2, false}, {"scores", 4096, 2, false}, {"other", 8192, 1, false}};
  addTask(plan, {0, 1, 3});
  addTask(plan, {0, 1, 2, 3});
  const auto placements = placeBuffers(plan, machine);
  EXPECT_EQ(placements.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(
      placements.status().message(),
      "task 't1' (2 of 2) needs 4096 bytes for 'scores' in the CMX of tile 1, where 6144 of 8192 bytes are in use "
      "('keys' 4096, 'values' 2048) and no free stretch is long enough, and nothing is moved out to make room; compile "
      "for smaller prefill chunks, for a machine with more CMX, or for another device");
}

TEST(BufferPlacementTest, DdrScratchIsShared) {
  machine::Machine machine = smallMachine(1);
  Plan plan;
  for (uint32_t i = 0; i < 10; ++i) plan.buffers.push_back({concat("h", i), 1000, 0, false});
  for (uint32_t i = 0; i + 1 < 10; ++i) addTask(plan, {i, i + 1});
  const auto placements = placeBuffers(plan, machine);
  ASSERT_TRUE(placements.isOk());
  expectSound(plan, machine, placements->front());
  EXPECT_EQ(placements->front().scratchBytes, 2 * 1024U);
  machine.ddrBytes = 2000;
  EXPECT_EQ(
      placeBuffers(plan, machine).status().message(),
      "the 10 buffers of a body in DDR, 10240 bytes without sharing, do not fit into the 2000 bytes of small; compile "
      "for shorter chunks or contexts");
}

}  // namespace
}  // namespace firn::target
