#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "kernels/reference/layer_norm.h"
#include "kernels/reference/rms_norm.h"

namespace firn::reference {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatEq;
using testing::FloatNear;
using testing::Pointwise;

WeightView vectorOf(const std::vector<float>& values) {
  return {DType::kF32, std::as_bytes(std::span(values)).data(), 1, values.size(), values.size()};
}

std::vector<float> normalize(const std::vector<float>& row, const std::vector<float>& weight, float epsilon) {
  std::vector<float> out(row.size());
  rmsNorm({.in = {row.data(), 1, row.size(), row.size()},
           .weight = vectorOf(weight),
           .out = {out.data(), 1, out.size(), out.size()},
           .epsilon = epsilon});
  return out;
}

// Expected values recorded from Hugging Face transformers.
TEST(RmsNormTest, EpsilonMattersForSmallInputs) {
  const std::vector<float> small(64, 1e-3F);
  const std::vector<float> ones(64, 1);
  EXPECT_THAT(normalize(small, ones, 1e-6F), Each(FloatNear(0.707107F, 1e-6F)));
  EXPECT_THAT(normalize(small, ones, 1e-5F), Each(FloatNear(0.301511F, 1e-6F)));
}

TEST(RmsNormTest, DividesByTheRootMeanSquareAndScales) {
  // mean of squares of (3, 4, 0, 0) is 6.25, its root 2.5.
  EXPECT_THAT(normalize({3, 4, 0, 0}, {1, 2, 3, 4}, 0), ElementsAre(FloatEq(1.2F), FloatEq(3.2F), 0, 0));
}

TEST(RmsNormTest, WideRowsUseEveryWeight) {
  const uint64_t width = 2 * kWeightPiece + 40;
  std::vector<float> weights(width);
  for (uint64_t j = 0; j < width; ++j) weights[j] = static_cast<float>(j);
  EXPECT_EQ(normalize(std::vector<float>(width, 1), weights, 0), weights);
}

TEST(RmsNormTest, RowsAreIndependentAndStrided) {
  std::vector<float> data{3, 4, 99, 0, 2, 99};
  const std::vector<float> ones(2, 1);
  rmsNorm({.in = {data.data(), 2, 2, 3}, .weight = vectorOf(ones), .out = {data.data(), 2, 2, 3}, .epsilon = 0});
  const float root = std::sqrt(12.5F);
  const std::vector<float> expected{3 / root, 4 / root, 99, 0, std::sqrt(2.0F), 99};
  EXPECT_THAT(data, Pointwise(FloatNear(1e-6F), expected));
}

TEST(RmsNormTest, SquaresDoNotOverflow) {
  EXPECT_THAT(normalize({1e18F, -1e18F}, {1, 1}, 1e-6F), ElementsAre(FloatEq(1), FloatEq(-1)));
}

TEST(RmsNormTest, WeightMayBeBf16) {
  const std::vector<uint16_t> weight{0x4000, 0x3F00};  // 2, 0.5
  const std::vector<float> in{1, -1};
  std::vector<float> out(2);
  rmsNorm({.in = {in.data(), 1, 2, 2},
           .weight = {DType::kBf16, std::as_bytes(std::span(weight)).data(), 1, 2, 2},
           .out = {out.data(), 1, 2, 2},
           .epsilon = 0});
  EXPECT_THAT(out, ElementsAre(2, -0.5F));
}

TEST(LayerNormTest, CentresScalesAndShifts) {
  // (1, 2, 3, 6): mean 3, variance 3.5.
  const std::vector<float> in{1, 2, 3, 6};
  const std::vector<float> weight{1, 1, 2, 2};
  const std::vector<float> bias{0, 10, 0, -1};
  std::vector<float> out(4);
  const LayerNormArgs args{.in = {in.data(), 1, 4, 4},
                           .weight = vectorOf(weight),
                           .bias = vectorOf(bias),
                           .out = {out.data(), 1, 4, 4},
                           .epsilon = 0.5F};
  layerNorm(args);
  EXPECT_THAT(out, ElementsAre(FloatEq(-1), FloatEq(9.5F), FloatEq(0), FloatEq(2)));
  LayerNormArgs unbiased = args;
  unbiased.bias = {};
  layerNorm(unbiased);
  EXPECT_THAT(out, ElementsAre(FloatEq(-1), FloatEq(-0.5F), FloatEq(0), FloatEq(3)));
}

}  // namespace
}  // namespace firn::reference
