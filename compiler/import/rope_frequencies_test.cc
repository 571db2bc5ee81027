#include "compiler/import/rope_frequencies.h"

#include <gtest/gtest.h>

#include <cmath>

namespace firn::import {
namespace {

RopeParameters plain(uint32_t dims, double base) {
  RopeParameters parameters;
  parameters.dims = dims;
  parameters.base = base;
  return parameters;
}

/// What the scaling divides each plain frequency by.
std::vector<double> factors(const RopeParameters& scaled) {
  const std::vector<float> before = ropeFrequencies(plain(scaled.dims, scaled.base)).freqs;
  const std::vector<float> after = ropeFrequencies(scaled).freqs;
  std::vector<double> out;
  for (size_t i = 0; i < before.size(); ++i) out.push_back(double{before[i]} / double{after[i]});
  return out;
}

TEST(RopeFrequenciesTest, PlainIsThePowerOfTheBase) {
  const RopeFrequencies rope = ropeFrequencies(plain(8, 10000));
  ASSERT_EQ(rope.freqs.size(), 4U);
  const double expected[] = {1, 0.1, 0.01, 0.001};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(rope.freqs[i] / expected[i], 1, 1e-6);
  EXPECT_EQ(rope.freqs[0], 1.0F);
  EXPECT_EQ(rope.magnitude, 1.0F);
}

TEST(RopeFrequenciesTest, LinearDividesByTheFactor) {
  RopeParameters parameters = plain(16, 10000);
  parameters.scaling = RopeScaling::kLinear;
  parameters.factor = 4;
  for (const double factor : factors(parameters)) EXPECT_EQ(factor, 4);
}

// Factors of Llama-3.2-1B, recorded from its published table.
TEST(RopeFrequenciesTest, Llama3OfOneB) {
  RopeParameters parameters = plain(64, 500000);
  parameters.scaling = RopeScaling::kLlama3;
  parameters.factor = 32;
  parameters.originalContext = 8192;
  const std::vector<double> got = factors(parameters);
  ASSERT_EQ(got.size(), 32U);
  for (int i = 0; i <= 14; ++i) EXPECT_EQ(got[i], 1) << i;
  EXPECT_NEAR(got[15], 1.651329, 1e-5);
  EXPECT_NEAR(got[16], 3.292262, 1e-5);
  EXPECT_NEAR(got[17], 9.666729, 1e-5);
  for (int i = 18; i < 32; ++i) EXPECT_NEAR(got[i], 32, 1e-5) << i;
}

// Factors of Llama-3.1-8B.
TEST(RopeFrequenciesTest, Llama3OfEightB) {
  RopeParameters parameters = plain(128, 500000);
  parameters.scaling = RopeScaling::kLlama3;
  parameters.factor = 8;
  parameters.originalContext = 8192;
  const std::vector<double> got = factors(parameters);
  const double middle[] = {1.207484, 1.553415, 2.026313, 2.69453, 3.684253, 5.257327};
  for (int i = 0; i <= 28; ++i) EXPECT_EQ(got[i], 1) << i;
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(got[29 + i], middle[i], 1e-5) << i;
  for (int i = 35; i < 64; ++i) EXPECT_NEAR(got[i], 8, 1e-5) << i;
}

TEST(RopeFrequenciesTest, DivisorsDivideWhatTheScalingLeaves) {
  const std::vector<float> divisors = {1, 2, 4, 8};
  RopeParameters parameters = plain(8, 10000);
  parameters.divisors = divisors;
  const std::vector<double> got = factors(parameters);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(got[i], divisors[i], 1e-6);
}

// Computed with the formulas of the paper in double.
TEST(RopeFrequenciesTest, YarnBlendsAndRaisesTheMagnitude) {
  RopeParameters parameters = plain(16, 10000);
  parameters.scaling = RopeScaling::kYarn;
  parameters.factor = 4;
  parameters.originalContext = 128;
  const double small[] = {1, 0.23717082, 0.05, 0.0079056942, 0.0025, 0.00079056942, 0.00025, 7.9056942e-05};
  const RopeFrequencies rope = ropeFrequencies(parameters);
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(rope.freqs[i] / small[i], 1, 1e-6) << i;
  EXPECT_NEAR(rope.magnitude, 1.138629436, 1e-7);

  parameters = plain(64, 1e6);
  parameters.scaling = RopeScaling::kYarn;
  parameters.factor = 8;
  parameters.originalContext = 4096;
  const RopeFrequencies large = ropeFrequencies(parameters);
  EXPECT_NEAR(large.freqs[7] / 0.044435787, 1, 1e-6);
  EXPECT_NEAR(large.freqs[15] / 0.00032723439, 1, 1e-6);
  EXPECT_NEAR(large.freqs[16] / 0.000125, 1, 1e-6);
  EXPECT_NEAR(large.magnitude, 1.207944154, 1e-7);
}

}  // namespace
}  // namespace firn::import
