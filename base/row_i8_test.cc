#include "base/row_i8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace firn {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(RowI8Test, TheLargestGetsTheLargestCodeAndTiesGoToEven) {
  std::vector<int8_t> codes(6);
  const std::vector<float> values = {127, -127, 0.5F, 1.5F, -2.5F, 0};
  EXPECT_EQ(quantizeRowI8(values, codes), 1);
  EXPECT_THAT(codes, ElementsAre(127, -127, 0, 2, -2, 0));
}

TEST(RowI8Test, EveryValueIsWithinHalfACode) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  constexpr double kRoundoff = 0x1p-24;
  for (const float size : {1e-20F, 1e-3F, 1.0F, 1e30F}) {
    std::vector<float> values(80);
    for (float& value : values) value = size * normal(random);
    std::vector<int8_t> codes(values.size());
    const float scale = quantizeRowI8(values, codes);
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(scale) * codes[i], values[i], scale * (0.5 + 3 * 127 * kRoundoff));
    }
  }
}

TEST(RowI8Test, TinyRowsAreZeroAndOddOnesAreNan) {
  std::vector<int8_t> codes(2, 5);
  EXPECT_EQ(quantizeRowI8(std::vector<float>{0x1p-101F, 0}, codes), 0);
  EXPECT_THAT(codes, Each(0));
  EXPECT_GT(quantizeRowI8(std::vector<float>{0x1p-100F, 0}, codes), 0);
  for (const float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    codes.assign(2, 5);
    EXPECT_TRUE(std::isnan(quantizeRowI8(std::vector<float>{1, odd}, codes)));
    EXPECT_TRUE(std::isnan(quantizeRowI8(std::vector<float>{-odd, 1}, codes)));
    EXPECT_THAT(codes, Each(0));
  }
}

}  // namespace
}  // namespace firn
