#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/reference/rope.h"

namespace firn::reference {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

const std::vector<float> kOneToEight{1, 2, 3, 4, 5, 6, 7, 8};

/// base^(-2i/dims) for base 10000, as models compute it.
std::vector<float> frequencies(uint32_t dims) {
  std::vector<float> freqs;
  for (uint32_t i = 0; i < dims / 2; ++i) {
    freqs.push_back(1.0F / std::pow(10000.0F, static_cast<float>(2 * i) / static_cast<float>(dims)));
  }
  return freqs;
}

struct Case {
  uint32_t dims = 8;
  RopePairing pairing = RopePairing::kInterleaved;
  int32_t position = 3;
  float magnitude = 1.0F;
};

std::vector<float> rotate(const Case& testCase) {
  std::vector<float> out(8);
  const std::vector<float> freqs = frequencies(testCase.dims);
  rope({.in = {kOneToEight.data(), 1, 1, 8, 8, 8},
        .out = {out.data(), 1, 1, 8, 8, 8},
        .positions = &testCase.position,
        .freqs = freqs.data(),
        .dims = testCase.dims,
        .pairing = testCase.pairing,
        .magnitude = testCase.magnitude});
  return out;
}

// Expected values of the next three tests: recorded from Hugging Face transformers.
TEST(RopeTest, HalfSplitPairing) {
  const std::vector<float> expected{-1.695593F, 0.137552F, 2.788682F, 3.975982F,
                                    -4.808842F, 6.323059F, 7.086837F, 8.011964F};
  EXPECT_THAT(rotate({.pairing = RopePairing::kHalfSplit}), Pointwise(FloatNear(2e-6F), expected));
}

TEST(RopeTest, InterleavedPairing) {
  const std::vector<float> expected{-1.272233F, -1.838865F, 1.683929F, 4.707907F,
                                    4.817777F,  6.147278F,  6.975969F, 8.020964F};
  EXPECT_THAT(rotate({}), Pointwise(FloatNear(2e-6F), expected));
}

TEST(RopeTest, PartialWidthUsesItsOwnPairOffset) {
  const std::vector<float> expected{-1.413353F, 1.879118F, -2.828857F, 4.058191F, 5, 6, 7, 8};
  EXPECT_THAT(rotate({.dims = 4, .pairing = RopePairing::kHalfSplit}), Pointwise(FloatNear(2e-6F), expected));
}

TEST(RopeTest, PositionZeroChangesNothing) {
  EXPECT_EQ(rotate({.position = 0}), kOneToEight);
  EXPECT_EQ(rotate({.pairing = RopePairing::kHalfSplit, .position = 0}), kOneToEight);
}

TEST(RopeTest, MagnitudeScalesTheRotatedPartOnly) {
  EXPECT_THAT(rotate({.dims = 4, .position = 0, .magnitude = 2}), ElementsAre(2, 4, 6, 8, 5, 6, 7, 8));
}

TEST(RopeTest, EachRowAndHeadTurnsByItsPositionInPlaceOrNot) {
  // Two rows, two heads of 2 with a gap between the rows; one pair of frequency 1.
  std::vector<float> data{1, 0, 0, 1, -7, 2, 0, 0, 2, -7};
  const std::vector<int32_t> positions{1, 5};
  const float freq = 1;
  const Heads heads{data.data(), 2, 2, 2, 5, 2};
  rope({.in = {data.data(), 2, 2, 2, 5, 2},
        .out = heads,
        .positions = positions.data(),
        .freqs = &freq,
        .dims = 2,
        .pairing = RopePairing::kHalfSplit});
  const std::vector<float> expected{
      std::cos(1.0F),     std::sin(1.0F),     -std::sin(1.0F),     std::cos(1.0F),     -7,
      2 * std::cos(5.0F), 2 * std::sin(5.0F), -2 * std::sin(5.0F), 2 * std::cos(5.0F), -7};
  EXPECT_THAT(data, Pointwise(FloatNear(1e-6F), expected));
}

}  // namespace
}  // namespace firn::reference
