#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/reference/add.h"
#include "kernels/reference/gelu.h"
#include "kernels/reference/mul.h"
#include "kernels/reference/scale.h"
#include "kernels/reference/silu.h"
#include "kernels/reference/softcap.h"

namespace firn::reference {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

ConstMatrix rowOf(const std::vector<float>& values) { return {values.data(), 1, values.size(), values.size()}; }
Matrix rowOf(std::vector<float>& values) { return {values.data(), 1, values.size(), values.size()}; }

const std::vector<float> kPoints{-20, -3, -1, -0.5F, 0, 0.5F, 1, 3, 20};

std::vector<float> geluOf(const std::vector<float>& in, bool tanhForm) {
  std::vector<float> out(in.size());
  gelu({.in = rowOf(in), .out = rowOf(out), .tanhForm = tanhForm});
  return out;
}

// Expected values of the activations: their definitions in fp64, to 8 digits.
TEST(SiluTest, KnownPoints) {
  std::vector<float> out(kPoints.size());
  silu({.in = rowOf(kPoints), .out = rowOf(out)});
  EXPECT_THAT(
      out, Pointwise(FloatNear(3e-7F), std::vector<float>{-4.1223072e-08F, -0.14227762F, -0.26894142F, -0.18877033F, 0,
                                                          0.31122967F, 0.73105858F, 2.8577224F, 20}));
}

TEST(SiluTest, FarEndsAreFinite) {
  const std::vector<float> in{-1000, 1000};
  std::vector<float> out(2);
  silu({.in = rowOf(in), .out = rowOf(out)});
  EXPECT_THAT(out, ElementsAre(0, 1000));
}

TEST(GeluTest, ExactForm) {
  EXPECT_THAT(geluOf(kPoints, false),
              Pointwise(FloatNear(3e-7F), std::vector<float>{0, -0.0040496941F, -0.15865525F, -0.15426877F, 0,
                                                             0.34573123F, 0.84134475F, 2.9959503F, 20}));
}

TEST(GeluTest, TanhForm) {
  EXPECT_THAT(geluOf(kPoints, true),
              Pointwise(FloatNear(3e-7F), std::vector<float>{0, -0.0036373921F, -0.15880801F, -0.15428599F, 0,
                                                             0.34571401F, 0.84119199F, 2.9963626F, 20}));
}

TEST(SoftcapTest, BoundsAndKeepsSmallValues) {
  const std::vector<float> in{-kInfinity, -30, 0, 0.01F, 30, kInfinity};
  std::vector<float> out(6);
  softcap({.in = rowOf(in), .out = rowOf(out), .cap = 30});
  EXPECT_THAT(out, Pointwise(FloatNear(2e-6F), std::vector<float>{-30, -22.847825F, 0, 0.01F, 22.847825F, 30}));
}

TEST(ScaleTest, TimesTheFactor) {
  const std::vector<float> in{0, -1.5F, 0.1F, kInfinity};
  std::vector<float> out(4);
  scale({.in = rowOf(in), .out = rowOf(out), .factor = 25.298222F});
  EXPECT_THAT(out, ElementsAre(0, -37.947333F, 2.5298222F, kInfinity));
}

TEST(MulAddTest, ElementByElementWithStrides) {
  std::vector<float> a{1, 2, -9, 3, 4, -9};
  const std::vector<float> b{10, 20, 30, 40};
  add({.a = {a.data(), 2, 2, 3}, .b = {b.data(), 2, 2, 2}, .out = {a.data(), 2, 2, 3}});
  EXPECT_THAT(a, ElementsAre(11, 22, -9, 33, 44, -9));
  mul({.a = {a.data(), 2, 2, 3}, .b = {b.data(), 2, 2, 2}, .out = {a.data(), 2, 2, 3}});
  EXPECT_THAT(a, ElementsAre(110, 440, -9, 990, 1760, -9));
}

}  // namespace
}  // namespace firn::reference
