#include "base/align.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace firn {
namespace {

TEST(AlignTest, RoundsUp) {
  EXPECT_EQ(roundUp(uint64_t{0}, 64), 0U);
  EXPECT_EQ(roundUp(uint64_t{1}, 64), 64U);
  EXPECT_EQ(roundUp(uint64_t{64}, 64), 64U);
  EXPECT_EQ(roundUp(uint64_t{65}, 64), 128U);
  EXPECT_EQ(roundUp(int64_t{7}, 3), 9);
  EXPECT_EQ(roundUp(UINT32_MAX - 63, 64), UINT32_MAX - 63) << "the largest that fits";
  static_assert(roundUp(5U, 4) == 8);
}

}  // namespace
}  // namespace firn
