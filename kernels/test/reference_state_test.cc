#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/reference/add_key_bias.h"
#include "kernels/reference/rope.h"
#include "kernels/reference/state_read.h"
#include "kernels/reference/state_write.h"

namespace firn::reference {
namespace {

using testing::Each;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A cache of 2 heads of 8 rows of 2, of any type, full of -1.
struct Cache {
  explicit Cache(DType type) : type(type), bytes(2 * 8 * 2 * dtypeInfo(type)->blockBytes, std::byte{0xFF}) {
    if (type == DType::kF32) {
      const std::vector<float> values(32, -1);
      std::memcpy(bytes.data(), values.data(), bytes.size());
    }
    if (type == DType::kF16) {
      const std::vector<uint16_t> halves(32, f32ToF16(-1));
      std::memcpy(bytes.data(), halves.data(), bytes.size());
    }
  }
  CacheView view() { return {type, bytes.data(), type == DType::kI8 ? scales.data() : nullptr, 8, 2, 2, 2, 16, 8}; }
  std::vector<float> read(uint64_t rows) {
    std::vector<float> out(32, kNan);
    stateRead({.cache = view(), .out = {out.data(), 8, 2, 2, 2, 16}, .rows = rows});
    return out;
  }

  DType type;
  std::vector<std::byte> bytes;
  std::vector<float> scales = std::vector<float>(16, 1);
};

class StateTest : public testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(Types, StateTest, testing::Values(DType::kF32, DType::kF16, DType::kI8),
                         [](const auto& info) { return std::string(dtypeInfo(info.param)->name); });

TEST_P(StateTest, WritesItsRowsAndNothingElse) {
  // 3 rows of 2 heads of 2, of which 2 are valid, into rows 4 and 5.
  const std::vector<float> in{127, 2, 3, -127, 5, 127, 127, 8, kNan, kNan, kNan, kNan};
  Cache cache(GetParam());
  stateWrite({.in = {in.data(), 3, 2, 2, 4, 2}, .cache = cache.view(), .row0 = 4, .valid = 2});
  std::vector<float> expected(32, -1);
  expected[8] = 127, expected[9] = 2, expected[10] = 5, expected[11] = 127;
  expected[24] = 3, expected[25] = -127, expected[26] = 127, expected[27] = 8;
  EXPECT_EQ(cache.read(8), expected);
}

TEST_P(StateTest, ReadsTheFirstRowsOnly) {
  Cache cache(GetParam());
  const std::vector<float> out = cache.read(3);
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i % 16 >= 6) << i;
  EXPECT_THAT(cache.read(8), Each(-1.0F));
}

TEST(StateReadTest, AValueOfI8IsScaleTimesCode) {
  Cache cache(DType::kI8);
  cache.bytes[2] = std::byte{100};
  cache.scales[1] = 0.1F;
  cache.scales[9] = kNan;
  const std::vector<float> out = cache.read(8);
  EXPECT_EQ(out[2], 0.1F * 100.0F);
  EXPECT_EQ(out[3], -0.1F);
  EXPECT_TRUE(std::isnan(out[18]) && std::isnan(out[19]));
}

/// Keys of a projection with a bias, rotated, are those without it, rotated, plus the turned bias.
TEST(AddKeyBiasTest, GivesTheKeysOfAProjectionWithItsBias) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  constexpr uint64_t kRows = 40;
  constexpr uint64_t kHeads = 2;
  constexpr uint64_t kDim = 12;
  for (const RopePairing pairing : {RopePairing::kInterleaved, RopePairing::kHalfSplit}) {
    for (const uint32_t dims : {2U, 8U, 12U}) {
      std::vector<float> key(kRows * kHeads * kDim);
      std::vector<float> bias(kHeads * kDim);
      std::vector<float> freqs(dims / 2);
      std::vector<int32_t> positions(kRows);
      for (float& value : key) value = normal(random);
      for (float& value : bias) value = 10 * normal(random);
      for (float& value : freqs) value = std::fabs(normal(random));
      for (size_t i = 0; i < kRows; ++i) positions[i] = static_cast<int32_t>(i);
      // [head][row][dim], as in a cache
      const auto turn = [&](std::vector<float>& x) {
        const Heads heads = {x.data(), kRows, kHeads, kDim, kDim, kRows * kDim};
        rope({.in = {x.data(), kRows, kHeads, kDim, kDim, kRows * kDim},
              .out = heads,
              .positions = positions.data(),
              .freqs = freqs.data(),
              .dims = dims,
              .pairing = pairing,
              .magnitude = 1.5F});
        return heads;
      };
      std::vector<float> whole = key;
      for (size_t i = 0; i < whole.size(); ++i) whole[i] += bias[i / (kRows * kDim) * kDim + i % kDim];
      turn(whole);
      std::vector<float> rows = key;
      const Heads view = turn(rows);
      addKeyBias({.x = view,
                  .rows = kRows - 1,
                  .bias = {DType::kF32, reinterpret_cast<const std::byte*>(bias.data()), kHeads, kDim, kDim},
                  .freqs = freqs.data(),
                  .dims = dims,
                  .pairing = pairing,
                  .magnitude = 1.5F});
      std::vector<float> untouched = key;
      turn(untouched);
      // Both ways add products of 1.5 cos or 1.5 sin with two keys and two biases, rounding each sum at most 5 times.
      const auto largest = [](const std::vector<float>& x) {
        return std::fabs(*std::ranges::max_element(x, {}, fabsf));
      };
      const double bound = 2 * 5 * 0x1p-24 * 1.5 * 2 * (largest(key) + largest(bias));
      for (size_t i = 0; i < rows.size(); ++i) {
        const bool isLast = i / kDim % kRows == kRows - 1;
        EXPECT_NEAR(rows[i], isLast ? untouched[i] : whole[i], bound) << i;
      }
    }
  }
}

}  // namespace
}  // namespace firn::reference
