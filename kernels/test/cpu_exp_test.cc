// The own exp against libm in double precision, and its promises: exp(0) == 1, limits, order, the same bits everywhere.
#include <gtest/gtest.h>

#include <bit>

#include "kernels/cpu/arithmetic.h"
#include "kernels/test/cpu_test_data.h"

namespace firn::cpu::test {
namespace {

std::vector<float> expOf(InstructionSet isa, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  kernels(isa).exp(x.data(), y.data(), x.size());
  return y;
}

/// Distance of `y` from `exact` in units of the last place of the fp32 number nearest `exact`.
double ulps(float y, double exact) {
  const auto nearest = static_cast<float>(exact);
  const float above = std::nextafter(nearest, kInf);
  return std::fabs(y - exact) / (static_cast<double>(above) - nearest);
}

/// Every `step`-th float from -kExpLow to kExpHigh.
std::vector<float> samples(uint32_t step) {
  std::vector<float> x;
  for (uint32_t bits = 0; bits <= std::bit_cast<uint32_t>(-kExpLow); bits += step) {
    x.push_back(-std::bit_cast<float>(bits));
    if (std::bit_cast<float>(bits) <= kExpHigh) x.push_back(std::bit_cast<float>(bits));
  }
  return x;
}

TEST(ExpTest, WithinOneAndAHalfUlpOfLibm) {
  const std::vector<float> x = samples(4099);
  const std::vector<float> y = expOf(bestInstructionSet(), x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(y[i], std::exp(static_cast<double>(x[i])));
    worst = std::max(worst, error);
    ASSERT_LE(error, 1.5) << x[i];
  }
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(ExpTest, SameBitsOnEverySet) {
  std::vector<float> x = samples(9973);
  for (const float special : {kNan, kInf, -kInf, 3e38F, -3e38F, -104.0F, -104.1F, 88.7F, 88.73F, 0x1p-149F}) {
    x.push_back(special);
  }
  const std::vector<float> portable = expOf(InstructionSet::kPortable, x);
  for (const InstructionSet isa : supportedSets()) EXPECT_EQ(firstDifference(portable, expOf(isa, x)), -1);
}

TEST(ExpTest, LimitsAreExact) {
  const std::vector<float> x{0.0F, -0.0F, -kInf, kInf, -104.1F, std::nextafter(kExpHigh, kInf), 0x1p-149F, -0x1p-149F};
  for (const InstructionSet isa : supportedSets()) {
    const std::vector<float> y = expOf(isa, x);
    EXPECT_EQ(y, (std::vector<float>{1, 1, 0, kInf, 0, kInf, 1, 1}));
    EXPECT_TRUE(std::isnan(expOf(isa, {kNan})[0]));
    EXPECT_TRUE(std::isfinite(expOf(isa, {kExpHigh})[0]));
  }
}

TEST(ExpTest, DoesNotDecreaseNearZero) {
  for (const float start : {-0x1p-3F, -0x1p-8F, -0x1p-20F, 0.0F, 0x1p-24F, 0x1p-12F, 0x1p-4F}) {
    std::vector<float> x(20000);
    x[0] = start;
    for (size_t i = 1; i < x.size(); ++i) x[i] = std::nextafter(x[i - 1], kInf);
    const std::vector<float> y = expOf(bestInstructionSet(), x);
    for (size_t i = 1; i < x.size(); ++i) ASSERT_GE(y[i], y[i - 1]) << x[i];
  }
}

}  // namespace
}  // namespace firn::cpu::test
