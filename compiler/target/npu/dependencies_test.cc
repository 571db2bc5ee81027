#include "compiler/target/npu/dependencies.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "compiler/target/npu/buffer_placement.h"
#include "compiler/target/npu/plans_for_test.h"

namespace firn::target {
namespace {

using Byte = std::tuple<uint64_t, uint64_t>;  ///< memory, address

/// The bytes of the accesses of a task, one by one.
std::set<Byte> bytesOf(const Plan& plan, const std::vector<uint64_t>& addresses, uint32_t task, bool onlyWritten) {
  std::set<Byte> bytes;
  for (const PlanAccess& access : plan.tasks[task].accesses) {
    if (onlyWritten && !access.isWrite) continue;
    const PlanBuffer& buffer = plan.buffers[access.buffer];
    for (uint64_t row = access.firstRow; row < access.firstRow + access.rows; ++row) {
      for (uint64_t i = 0; i < access.bytes; ++i) {
        const uint64_t address = addresses[access.buffer] + row * access.rowBytes + access.firstByte + i;
        if (buffer.tiles == 0) bytes.insert({buffer.isFixed ? 1000 + access.buffer : 100, address});
        for (uint64_t tile = 0; tile < 64; ++tile) {
          if ((access.tiles & buffer.tiles) >> tile & 1) bytes.insert({tile, address});
        }
      }
    }
  }
  return bytes;
}

bool meet(const std::set<Byte>& a, const std::set<Byte>& b) {
  for (const Byte& byte : a) {
    if (b.contains(byte)) return true;
  }
  return false;
}

/// What each task follows, directly or not.
std::vector<std::vector<bool>> closure(const Dependencies& dependencies, uint32_t tasks) {
  std::vector<std::vector<bool>> follows(tasks, std::vector<bool>(tasks));
  for (uint32_t task = 0; task < tasks; ++task) {
    for (const uint32_t earlier : dependencies.of(task)) {
      follows[task][earlier] = true;
      for (uint32_t other = 0; other < earlier; ++other) {
        if (follows[earlier][other]) follows[task][other] = true;
      }
    }
  }
  return follows;
}

void expectConflictsOrdered(const Plan& plan, const std::vector<uint64_t>& addresses, bool isExact) {
  const auto tasks = static_cast<uint32_t>(plan.tasks.size());
  const Dependencies dependencies = dependenciesOf(plan, addresses);
  const std::vector<std::vector<bool>> follows = closure(dependencies, tasks);
  std::vector<std::set<Byte>> touched;
  std::vector<std::set<Byte>> written;
  for (uint32_t task = 0; task < tasks; ++task) {
    touched.push_back(bytesOf(plan, addresses, task, false));
    written.push_back(bytesOf(plan, addresses, task, true));
    const std::span<const uint32_t> direct = dependencies.of(task);
    for (uint32_t other = 0; other < task; ++other) {
      const bool conflict = meet(touched[other], written[task]) || meet(written[other], touched[task]);
      if (conflict) ASSERT_TRUE(follows[task][other]) << task << " must follow " << other;
      const bool isDirect = std::find(direct.begin(), direct.end(), other) != direct.end();
      if (isExact && isDirect) ASSERT_TRUE(conflict) << task << " need not follow " << other;
    }
  }
}

TEST(DependenciesTest, OrderTheConflictsOfBytesOneByOne) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    const machine::Machine machine = smallMachine(1 + seed % 2);
    const bool hasMixedStrides = seed % 3 == 0;
    const Plan plan =
        randomPlan(machine, {.seed = seed, .tasks = 30, .liveBuffers = 5, .hasMixedStrides = hasMixedStrides});
    const auto placements = placeBuffers(plan, machine);
    if (!placements) continue;
    expectConflictsOrdered(plan, placements->front().addresses, false);
  }
}

struct Part {
  uint64_t firstRow = 0;
  uint64_t rows = 8;
  uint64_t firstByte = 0;
  uint64_t bytes = 64;
};

/// Tasks on one buffer of 8 rows of 64 bytes.
Plan sheetPlan(const std::vector<std::pair<bool, Part>>& accesses) {
  Plan plan;
  plan.buffers = {{"sheet", 512, 0, false}};
  for (const auto& [isWrite, part] : accesses) {
    PlanTask task;
    task.accesses = {{.buffer = 0,
                      .isWrite = isWrite,
                      .firstRow = part.firstRow,
                      .rows = part.rows,
                      .rowBytes = 64,
                      .firstByte = part.firstByte,
                      .bytes = part.bytes}};
    plan.tasks.push_back(task);
  }
  return plan;
}

std::vector<uint32_t> of(const Dependencies& dependencies, uint32_t task) {
  return {dependencies.of(task).begin(), dependencies.of(task).end()};
}

TEST(DependenciesTest, ColumnsSideBySideAreIndependent) {
  const Plan plan = sheetPlan({{true, {.firstByte = 0, .bytes = 32}},
                               {true, {.firstByte = 32, .bytes = 32}},
                               {false, {.firstByte = 0, .bytes = 32}},
                               {false, {.firstRow = 2, .rows = 1}},
                               {true, {}}});
  const Dependencies dependencies = dependenciesOf(plan, std::vector<uint64_t>{0});
  EXPECT_EQ(of(dependencies, 1), std::vector<uint32_t>{});
  EXPECT_EQ(of(dependencies, 2), std::vector<uint32_t>{0});
  EXPECT_EQ(of(dependencies, 3), (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(of(dependencies, 4), (std::vector<uint32_t>{3, 2}));  // which follow the writes
}

/// Bytes that one task writes twice are overwritten once: the rest of the old bytes still has its writer.
TEST(DependenciesTest, BytesWrittenTwiceAreCountedOnce) {
  Plan plan = sheetPlan({{true, {}}, {true, {.bytes = 32}}, {false, {.firstByte = 32, .bytes = 32}}});
  plan.tasks[1].accesses.push_back(plan.tasks[1].accesses[0]);
  const Dependencies two = dependenciesOf(plan, std::vector<uint64_t>{0});
  EXPECT_EQ(of(two, 1), std::vector<uint32_t>{0});
  EXPECT_EQ(of(two, 2), std::vector<uint32_t>{0});
  plan.tasks[1].accesses.insert(plan.tasks[1].accesses.begin(), plan.tasks[0].accesses[0]);
  EXPECT_EQ(of(dependenciesOf(plan, std::vector<uint64_t>{0}), 2), std::vector<uint32_t>{1});
}

/// Reads of the whole and writes of columns, again and again: what was overwritten is forgotten.
TEST(DependenciesTest, StayFewWhereRectanglesDoNotCoverEachOther) {
  std::vector<std::pair<bool, Part>> accesses;
  for (uint64_t round = 0; round < 50; ++round) {
    for (uint64_t i = 0; i < 4; ++i) accesses.push_back({true, {.firstByte = 16 * i, .bytes = 16}});
    accesses.push_back({false, {}});
  }
  const Dependencies dependencies = dependenciesOf(sheetPlan(accesses), std::vector<uint64_t>{0});
  EXPECT_EQ(dependencies.tasks.size(), 50 * 4 + 49 * 4U);  // the read has four, each write but the first ones the read
}

TEST(DependenciesTest, AreFewForManyTasksOnOneBuffer) {
  std::vector<std::pair<bool, Part>> accesses;
  for (uint64_t round = 0; round < 50; ++round) {
    for (uint64_t row = 0; row < 8; ++row) accesses.push_back({true, {.firstRow = row, .rows = 1}});
    for (uint64_t row = 0; row < 8; ++row) accesses.push_back({false, {.firstRow = row, .rows = 1}});
  }
  const Dependencies dependencies = dependenciesOf(sheetPlan(accesses), std::vector<uint64_t>{0});
  EXPECT_EQ(dependencies.tasks.size(), accesses.size() - 8);  // each but the first writes has one
}

TEST(DependenciesTest, MemoryUsedInTurnOrdersItsUsers) {
  Plan plan;
  plan.buffers = {{"old", 128, 3, false}, {"new", 128, 2, false}};
  const auto task = [&](uint32_t buffer, bool isWrite, uint64_t tiles) {
    PlanTask made;
    made.accesses = {{.buffer = buffer, .isWrite = isWrite, .tiles = tiles, .bytes = 128}};
    plan.tasks.push_back(made);
  };
  task(0, true, 3);
  task(0, false, 1);
  task(0, false, 2);
  task(1, true, 2);  // in tile 1 alone
  const Dependencies shared = dependenciesOf(plan, std::vector<uint64_t>{64, 0});
  EXPECT_EQ(of(shared, 3), std::vector<uint32_t>{2});
  const Dependencies apart = dependenciesOf(plan, std::vector<uint64_t>{128, 0});
  EXPECT_EQ(of(apart, 3), std::vector<uint32_t>{});
}

}  // namespace
}  // namespace firn::target
