// Work of tasks on the sample machine, whose figures allow a count by hand: a cycle is 1000 ps, a kernel takes 1000
// cycles and 1/16 of one for each element, a copy from DDR 100 ns and 1 ns for 64 bytes.
#include "blob/npu_task_cost.h"

#include <gtest/gtest.h>

#include <array>

#include "blob/machine/sample_machine_for_test.h"

namespace firn::blob {
namespace {

OperandRecord matrix(DType type, uint32_t rows, uint32_t columns) {
  OperandRecord operand{};
  operand.dtype = type;
  operand.space = Space::kCmx;
  operand.rank = 2;
  operand.dims = {rows, columns, 1, 1};
  return operand;
}

OperandRecord ids(uint32_t rows) {
  OperandRecord operand = matrix(DType::kI32, rows, 1);
  operand.rank = 1;
  return operand;
}

TEST(NpuTaskCostTest, EmbedReadsTheRowsOfAllItsTables) {
  constexpr std::array<uint64_t, 2> kAttrs = {4, 0};
  const std::array operands = {ids(2), matrix(DType::kU8, 100, 32), matrix(DType::kF16, 100, 2),
                               matrix(DType::kF16, 100, 2), matrix(DType::kF32, 2, 64)};
  const machine::Work work = npuTaskWork(machine::sampleMachine(), TaskOp::kNpuEmbedGroups, operands, kAttrs);
  // 128 numbers: 8 cycles. 2 rows of 32 + 4 + 4 bytes: 1.25 ns.
  EXPECT_EQ(work.fixedPicoseconds, 1'008'000 + 100'000 + 1'250);
  EXPECT_EQ(work.ddrBytes, 80U);

  const std::array raw = {ids(2), matrix(DType::kU8, 100, 40), matrix(DType::kF32, 2, 64)};
  constexpr std::array<uint64_t, 1> kType = {static_cast<uint64_t>(DType::kQ4_1)};
  EXPECT_EQ(npuTaskWork(machine::sampleMachine(), TaskOp::kNpuEmbed, raw, kType).fixedPicoseconds,
            work.fixedPicoseconds);
}

/// A sum for each of 4 groups, of 2 rows and 16 columns; the mins are a product more for each.
TEST(NpuTaskCostTest, AccumulateCountsItsPartialSumsTwiceWithMins) {
  OperandRecord partials = matrix(DType::kF32, 4, 2);
  partials.rank = 3;
  partials.dims = {4, 2, 16, 1};
  const OperandRecord scales = matrix(DType::kF16, 16, 4), sums = matrix(DType::kF32, 2, 4);
  const OperandRecord out = matrix(DType::kF32, 2, 16);
  constexpr std::array<uint64_t, 1> kFirst = {0};
  const std::array symmetric = {partials, scales, out};
  const std::array withMins = {partials, scales, scales, sums, out};
  EXPECT_EQ(npuTaskElements(TaskOp::kNpuAccumulate, symmetric), 128U);
  EXPECT_EQ(npuTaskElements(TaskOp::kNpuAccumulate, withMins), 256U);
  const machine::Machine machine = machine::sampleMachine();
  EXPECT_EQ(npuTaskWork(machine, TaskOp::kNpuAccumulate, symmetric, kFirst).fixedPicoseconds, 1'008'000U);
  EXPECT_EQ(npuTaskWork(machine, TaskOp::kNpuAccumulate, withMins, kFirst).fixedPicoseconds, 1'016'000U);
}

/// 1024 bytes, between every two places.
TEST(NpuTaskCostTest, CopiesCountTheCmxOfEachTileThatTheyReach) {
  const OperandRecord onChip = matrix(DType::kF32, 16, 16);
  OperandRecord inDdr = onChip;
  inDdr.space = Space::kScratch;
  const auto bytes = [&](const OperandRecord& from, const OperandRecord& to, uint64_t tiles) {
    return npuTaskCmxBytes(machine::sampleMachine(), TaskOp::kNpuCopy, std::array{from, to}, std::array{tiles});
  };
  EXPECT_EQ(bytes(inDdr, inDdr, 0), 0U);
  EXPECT_EQ(bytes(onChip, inDdr, 0), 1024U);
  EXPECT_EQ(bytes(inDdr, onChip, 0b01), 1024U);
  EXPECT_EQ(bytes(inDdr, onChip, 0b11), 2 * 1024U);
  EXPECT_EQ(bytes(onChip, onChip, 0b01), (1 + 1) * 1024U);
  EXPECT_EQ(bytes(onChip, onChip, 0b11), (1 + 2) * 1024U);
  const machine::Work multicast =
      npuTaskWork(machine::sampleMachine(), TaskOp::kNpuCopy, std::array{onChip, onChip}, std::array{uint64_t{0b11}});
  EXPECT_EQ(multicast.cmxBytes, 1024U) << "read once, and moved once";
  EXPECT_EQ(npuTaskCmxBytes(machine::sampleMachine(), TaskOp::kNpuKvWrite, std::array{onChip, inDdr},
                            std::array{uint64_t{0}}),
            1024U);
}

TEST(NpuTaskCostTest, ExpandCountsTheNumbersItWrites) {
  constexpr std::array<uint64_t, 2> kAttrs = {4, 8};
  const std::array operands = {matrix(DType::kU8, 16, 32), matrix(DType::kF16, 16, 2), matrix(DType::kF16, 16, 64)};
  const machine::Work work = npuTaskWork(machine::sampleMachine(), TaskOp::kNpuExpandGroups, operands, kAttrs);
  EXPECT_EQ(work.fixedPicoseconds, 1'064'000);
  EXPECT_EQ(npuTaskMacs(TaskOp::kNpuExpandGroups, operands), 0);
}

}  // namespace
}  // namespace firn::blob
