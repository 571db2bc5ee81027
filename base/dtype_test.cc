#include "base/dtype.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace firn {
namespace {

TEST(DTypeTest, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const float value = f16ToF32(static_cast<uint16_t>(half));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(f16ToF32(f32ToF16(value))));
      continue;
    }
    ASSERT_EQ(f32ToF16(value), half) << value;
  }
}

TEST(DTypeTest, HalvesRoundToNearestEven) {
  EXPECT_EQ(f32ToF16(1.0F + 0x1p-11F), 0x3C00);      // tie: to even, down
  EXPECT_EQ(f32ToF16(1.0F + 3 * 0x1p-11F), 0x3C02);  // tie: to even, up
  EXPECT_EQ(f32ToF16(65519.996F), 0x7BFF);
  EXPECT_EQ(f32ToF16(65520.0F), 0x7C00);
  EXPECT_EQ(f32ToF16(0x1p-25F), 0x0000);  // tie at half the least subnormal
  EXPECT_EQ(f32ToF16(std::nextafter(0x1p-25F, 1.0F)), 0x0001);
  EXPECT_EQ(f32ToF16(-std::numeric_limits<float>::infinity()), 0xFC00);
}

TEST(DTypeTest, BytesRefusePartialBlocksAndOverflow) {
  EXPECT_EQ(dtypeBytes(DType::kQ4_1, 576), 360U);
  EXPECT_EQ(dtypeBytes(DType::kQ4_0, 31), std::nullopt);
  EXPECT_EQ(dtypeBytes(DType::kF32, std::numeric_limits<uint64_t>::max() / 2), std::nullopt);
  EXPECT_EQ(dtypeInfo(static_cast<DType>(200)), nullptr);
}

TEST(DTypeTest, GgmlNumbersFindTheirRow) {
  EXPECT_EQ(dtypeFromGgml(3)->name, "q4_1");
  EXPECT_EQ(dtypeFromGgml(-1), nullptr);
  EXPECT_EQ(dtypeFromGgml(4), nullptr);
}

}  // namespace
}  // namespace firn
