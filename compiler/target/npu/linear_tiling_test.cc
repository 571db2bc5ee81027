#include "compiler/target/npu/linear_tiling.h"

#include <gtest/gtest.h>

#include <numeric>

#include "compiler/target/npu/machine_files.h"

namespace firn::target::npu {
namespace {

machine::Machine machineOf(std::string_view name) {
  return *machine::parseMachine(*firn::npu::machineText(name), name);
}

/// Rows of 4 bits in groups of 32.
LinearShape shapeOf(int64_t m, int64_t n, int64_t k) {
  LinearShape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  shape.form = WeightForm::kGroups;
  shape.codeBits = 4;
  shape.groups = k / 32;
  shape.blockElements = 32;
  shape.rowBytes = static_cast<uint64_t>(k / 2 + k / 32 * 2);
  return shape;
}

/// 128 rows of W at once, as long as those of a model of 3B or 8B parameters, do not fit twice as f16; their results
/// do.
TEST(LinearTilingTest, HeadsOf128FitHoweverLongTheRowsOfW) {
  for (const int64_t k : {3072, 4096, 8192}) {
    for (const int64_t m : {1, 16, 64, 256, 1024}) {
      LinearShape shape = shapeOf(m, k + 2048, k);
      shape.columnUnit = 128;
      shape.needsWhole = shape.casts = true;
      const auto tiling = chooseTiling(machineOf("lnl"), shape);
      ASSERT_TRUE(tiling.isOk()) << tiling.status().message();
      EXPECT_EQ(tiling->nChunk % 128, 0);
      EXPECT_EQ(tiling->nChunk % tiling->nPiece, 0);
      EXPECT_EQ(tiling->nPiece % kGridUnit, 0);
      EXPECT_EQ(tiling->kChunk, k);
    }
  }
}

/// Three chunks of f16 weights, x and the results of 176 rows fit a tile of 1440 KiB with 32 columns a chunk.
TEST(LinearTilingTest, AGatedPairKeepsAllItsRowsInATile) {
  LinearShape shape = shapeOf(1024, 8192, 2048);
  shape.width = 2;
  shape.needsWhole = shape.casts = true;
  const auto tiling = chooseTiling(machineOf("lnl"), shape);
  ASSERT_TRUE(tiling.isOk()) << tiling.status().message();
  EXPECT_TRUE(tiling->byRows);
  EXPECT_EQ(tiling->mBlock, 176);
  EXPECT_GE(tiling->nChunk, 32);
}

TEST(LinearTilingTest, OneRowIsMultipliedByCodes) {
  const auto tiling = chooseTiling(machineOf("lnl"), shapeOf(1, 2048, 8192));
  ASSERT_TRUE(tiling.isOk()) << tiling.status().message();
  EXPECT_TRUE(tiling->isNative);
  EXPECT_FALSE(tiling->byRows);
}

/// Heads whose size is no power of two, with and without a rope behind them, on small chips too. What is fused around a
/// layer may be taken from it; a layer alone always fits.
TEST(LinearTilingTest, HeadsOfAnySizeFit) {
  for (const std::string_view name : firn::npu::machineNames()) {
    for (const int64_t headDim : {20, 30, 64, 72, 80, 96, 100, 112, 120, 128, 144, 160, 192, 256}) {
      for (const int64_t m : {1, 16, 64, 256, 1024}) {
        LinearShape shape = shapeOf(m, 8 * headDim, 1024);
        shape.columnUnit = std::lcm(int64_t{16}, headDim);
        shape.needsWhole = shape.norms = shape.casts = true;
        auto tiling = chooseTiling(machineOf(name), shape);
        if (!tiling) tiling = chooseTiling(machineOf(name), shape, Room::kLean);
        ASSERT_TRUE(tiling.isOk()) << name << " " << headDim << " " << m << ": " << tiling.status().message();
        EXPECT_TRUE(tiling->nChunk % shape.columnUnit == 0 || tiling->nChunk == shape.n);
      }
    }
  }
}

TEST(LinearTilingTest, ALayerAloneFitsHoweverWide) {
  for (const std::string_view name : firn::npu::machineNames()) {
    for (const int64_t k : {896, 2048, 4096, 5120, 8192, 14'336, 28'672}) {
      for (const int64_t m : {1, 16, 64, 256, 1024}) {
        auto tiling = chooseTiling(machineOf(name), shapeOf(m, k, k));
        if (!tiling) tiling = chooseTiling(machineOf(name), shapeOf(m, k, k), Room::kLean);
        ASSERT_TRUE(tiling.isOk()) << name << " " << k << " " << m << ": " << tiling.status().message();
      }
    }
  }
}

TEST(LinearTilingTest, WhatFitsNowhereIsNamedWithItsBytes) {
  LinearShape shape = shapeOf(16, 2048, 1 << 20);
  shape.needsWhole = true;
  const auto tiling = chooseTiling(machineOf("lnl"), shape);
  ASSERT_FALSE(tiling.isOk());
  EXPECT_EQ(tiling.status().code(), Code::kResourceExhausted);
  EXPECT_NE(tiling.status().message().find("[2048, 1048576]"), std::string::npos) << tiling.status().message();
  EXPECT_NE(tiling.status().message().find("1474560"), std::string::npos) << tiling.status().message();
}

}  // namespace
}  // namespace firn::target::npu
