// The formulas on a machine with round figures, where they can be computed by hand. What they give for real machines:
// compiler/target/npu/machines/machines_test.cc.
#include "blob/machine/cost.h"

#include <gtest/gtest.h>

#include "blob/machine/sample_machine_for_test.h"

namespace firn::machine {
namespace {

TEST(CostTest, DpuTakesTheBestGridAndTwiceForFp16) {
  Machine machine = sampleMachine();
  machine.cmxReadBytesPerCycle = 1 << 16;
  // 16 x 16 x 8: 4 * 4 * 8 = 128 blocks, twice, and 10 to start; 4 x 64 x 8: 16 * 1 * 8, the same.
  EXPECT_EQ(dpuWork(machine, {.m = 64, .n = 64, .k = 64}).fixedPicoseconds, (10 + 256) * 1000);
  // One row fills 1 of 16 rows, or 1 of 4: 1 * 1 * 8 blocks instead of 1 * 4 * 8.
  EXPECT_EQ(dpuWork(machine, {.m = 1, .n = 64, .k = 64}).fixedPicoseconds, (10 + 16) * 1000);
  machine.grids.pop_back();
  EXPECT_EQ(dpuWork(machine, {.m = 1, .n = 64, .k = 64}).fixedPicoseconds, (10 + 64) * 1000);
  // One more of each dim than a grid holds.
  EXPECT_EQ(dpuWork(machine, {.m = 17, .n = 17, .k = 9}).fixedPicoseconds, (10 + 16) * 1000);
}

TEST(CostTest, DpuGroupsDoNotShareABlock) {
  Machine machine = sampleMachine();
  machine.cmxReadBytesPerCycle = 1 << 16;
  machine.grids = {{16, 16, 8}};
  // k = 96 is 12 blocks; 8 groups of 12 are 8 * 2.
  EXPECT_EQ(dpuWork(machine, {.m = 16, .n = 16, .k = 96}).fixedPicoseconds, (10 + 24) * 1000);
  EXPECT_EQ(dpuWork(machine, {.m = 16, .n = 16, .k = 96, .groups = 8}).fixedPicoseconds, (10 + 32) * 1000);
}

TEST(CostTest, DpuIsHeldByItsCmxReads) {
  Machine machine = sampleMachine();
  machine.grids = {{16, 16, 8}};
  // Activations 2 * 128, weights 256 * 128 * bits / 8, results 4 * 256 bytes, at 256 bytes per cycle; MACs take 512.
  const Work codes = dpuWork(machine, {.m = 1, .n = 256, .k = 128, .weightBits = 4});
  EXPECT_EQ(codes.cmxBytes, 256 + 16'384 + 1024);
  EXPECT_EQ(codes.fixedPicoseconds, (10 + 512) * 1000);
  machine.cmxReadBytesPerCycle = 16;
  const Work halves = dpuWork(machine, {.m = 1, .n = 256, .k = 128, .outBytes = 2, .accumulates = true});
  EXPECT_EQ(halves.cmxBytes, 256 + 65'536 + 2 * 512);
  EXPECT_EQ(halves.fixedPicoseconds, 10'000 + 66'816 * 1000 / 16);
  // In the clock of the CMX, while the start-up is in that of the DPU: 10 / 2 GHz + 4176 / 0.5 GHz.
  machine.dpuMhz = 2000;
  machine.shaveMhz = 500;
  EXPECT_EQ(dpuWork(machine, {.m = 1, .n = 256, .k = 128, .outBytes = 2, .accumulates = true}).fixedPicoseconds,
            5000 + 4176 * 2000);
}

TEST(CostTest, TimesAreRoundedUpOnce) {
  Machine machine = sampleMachine();
  machine.cmxReadBytesPerCycle = 1 << 16;
  machine.dpuMhz = 3000;
  // 11 + 2 cycles of a third of a nanosecond: 4333.3 ps; two roundings would give 4335.
  machine.dpuStartCycles = 11;
  EXPECT_EQ(dpuWork(machine, {.m = 1, .n = 1, .k = 1}).fixedPicoseconds, 4334);
  // 7 bytes at 3 per microsecond.
  EXPECT_EQ(transferPicoseconds(7, 3), 2'333'334);
  machine.shaveMhz = 700;
  EXPECT_EQ(dmaWork(machine, 5, false).fixedPicoseconds, 28'572);
}

TEST(CostTest, ShaveKernels) {
  Machine machine = sampleMachine();
  // 64 lanes at half efficiency: 3200 elements of 2 cycles a lane take 200, and 1000 to start.
  EXPECT_EQ(shaveWork(machine, "add", 3200).fixedPicoseconds, 1'200'000);
  EXPECT_EQ(shaveWork(machine, "add", 0).fixedPicoseconds, 1'000'000);
  machine.kernels[12] = {.memory = 1, .ops = 7};
  EXPECT_EQ(shaveWork(machine, "softcap", 3200).fixedPicoseconds, 1'700'000);
}

TEST(CostTest, Dma) {
  const Machine machine = sampleMachine();
  EXPECT_EQ(engineBytesPerMicrosecond(machine), 64'000);
  const Work ddr = dmaWork(machine, 6400, true);
  EXPECT_EQ(ddr.fixedPicoseconds, 100'000);
  EXPECT_EQ(ddr.ddrBytes, 6400);
  const Work cmx = dmaWork(machine, 6400, false);
  EXPECT_EQ(cmx.fixedPicoseconds, 20'000);
  EXPECT_EQ(cmx.ddrBytes, 0);
  EXPECT_EQ(cmx.cmxBytes, 6400);
}

TEST(CostTest, NothingOverflows) {
  constexpr uint32_t kMost = UINT32_MAX;
  Machine machine = sampleMachine();
  machine.macsPerCycle = 1;
  machine.grids = {{1, 1, 1}};
  machine.fp16Factor = 16;
  machine.dpuMhz = 1;
  EXPECT_EQ(dpuWork(machine, {.m = kMost, .n = kMost, .k = kMost}).fixedPicoseconds, kMostPicoseconds);
  machine.dpuMhz = machine.shaveMhz = 10'000;
  machine.cmxReadBytesPerCycle = 1;
  const Matmul most = {.m = kMost, .n = kMost, .k = kMost, .groups = kMost, .accumulates = true};
  EXPECT_EQ(dpuWork(machine, most).fixedPicoseconds, kMostPicoseconds);
  EXPECT_EQ(dpuWork(machine, most).cmxBytes, UINT64_MAX);
  EXPECT_EQ(shaveWork(machine, "rope", UINT64_MAX).fixedPicoseconds, kMostPicoseconds);
  EXPECT_EQ(transferPicoseconds(UINT64_MAX, 1), kMostPicoseconds);
}

}  // namespace
}  // namespace firn::machine
