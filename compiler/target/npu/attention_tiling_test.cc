#include "compiler/target/npu/attention_tiling.h"

#include <gtest/gtest.h>

#include "base/concat.h"
#include "compiler/target/npu/machine_files.h"

namespace firn::target::npu {
namespace {

machine::Machine machineOf(std::string_view name) {
  return *machine::parseMachine(*firn::npu::machineText(name), name);
}

TEST(AttentionTilingTest, EveryBuiltInMachineTakesEveryModelAndLength) {
  for (const std::string_view name : firn::npu::machineNames()) {
    for (const int64_t headDim : {16, 64, 80, 96, 128, 256}) {
      for (const int64_t group : {1, 4, 7, 8, 16}) {
        for (const int64_t m : {1, 16, 256, 1024}) {
          for (const int64_t context : {1152, 32'768, 1 << 21}) {
            const auto tiling = chooseTiling(
                machineOf(name), {.m = m, .kvHeads = 8, .group = group, .headDim = headDim, .context = context});
            ASSERT_TRUE(tiling.isOk()) << tiling.status().message();
            EXPECT_GE(tiling->rows, 16);
            EXPECT_LE(tiling->tokens, m);
            // The least that a unit needs at once: query, sums, result; scores and probabilities of a block, its rows.
            const int64_t rows = tiling->tokens * group;
            const int64_t bytes = rows * (headDim * 8 + 12) + tiling->rows * (rows * 6 + headDim * 4) +
                                  (tiling->sharesMask ? context : tiling->rows);
            EXPECT_LE(bytes, static_cast<int64_t>(machineOf(name).cmxBytes)) << concat(name, " ", headDim, " ", group);
          }
        }
      }
    }
  }
}

TEST(AttentionTilingTest, BlocksAreWideWhereThereIsRoom) {
  const auto tiling =
      chooseTiling(machineOf("lnl"), {.m = 1, .kvHeads = 8, .group = 4, .headDim = 64, .context = 2048});
  ASSERT_TRUE(tiling.isOk());
  EXPECT_EQ(tiling->rows, 1024);
  EXPECT_TRUE(tiling->sharesMask);
}

TEST(AttentionTilingTest, WhatFitsNowhereIsNamedWithItsBytes) {
  machine::Machine machine = machineOf("lnl");
  machine.cmxBytes = 65'536;
  const auto tiling = chooseTiling(machine, {.m = 1, .kvHeads = 1, .group = 64, .headDim = 1024, .context = 1024});
  ASSERT_FALSE(tiling.isOk());
  EXPECT_EQ(tiling.status().code(), Code::kResourceExhausted);
  EXPECT_NE(tiling.status().message().find("65536"), std::string::npos) << tiling.status().message();
}

}  // namespace
}  // namespace firn::target::npu
