#include "tools/timeline/pixel_grid.h"

#include <gtest/gtest.h>

#include <random>

namespace firn::tools {
namespace {

constexpr uint8_t kRed = 1, kBlue = 2, kMixed = 9;

TEST(PixelGridTest, ABoxAloneIsOnePatch) {
  PixelGrid grid(10, 10);
  grid.paint({2.5, 3.5, 4.5, 4.5}, 7, kRed, kMixed);
  const auto patches = grid.patches();
  ASSERT_EQ(patches.size(), 1U);
  EXPECT_EQ(patches[0].left, 2U);
  EXPECT_EQ(patches[0].top, 3U);
  EXPECT_EQ(patches[0].width, 3U);
  EXPECT_EQ(patches[0].height, 2U);
  EXPECT_EQ(patches[0].cell.boxes, 1U);
  EXPECT_EQ(patches[0].cell.first, 7U);
}

TEST(PixelGridTest, SharedPixelsOfOneKindAreOnePatch) {
  PixelGrid grid(4, 1);
  for (uint32_t box = 0; box < 6; ++box) grid.paint({box / 2 + 0.3, 0, box / 2 + 0.3, 0}, box, kRed, kMixed);
  const auto patches = grid.patches();
  ASSERT_EQ(patches.size(), 1U);
  EXPECT_EQ(patches[0].width, 3U);
  EXPECT_EQ(patches[0].cell.first, 0U);
  EXPECT_EQ(patches[0].cell.last, 5U);
  EXPECT_EQ(patches[0].cell.kind, kRed);
}

TEST(PixelGridTest, KindsThatMeetAreMixed) {
  PixelGrid grid(2, 1);
  grid.paint({0.1, 0, 0.2, 0}, 0, kRed, kMixed);
  grid.paint({0.3, 0, 0.4, 0}, 1, kBlue, kMixed);
  grid.paint({0.5, 0, 0.6, 0}, 2, kRed, kMixed);
  const auto patches = grid.patches();
  ASSERT_EQ(patches.size(), 1U);
  EXPECT_EQ(patches[0].cell.kind, kMixed);
  EXPECT_EQ(patches[0].cell.boxes, 3U);
}

/// Also beyond the edges, where rounding may put the last box of a picture.
TEST(PixelGridTest, EveryPaintedPixelIsInOnePatchAndNoOther) {
  std::mt19937 numbers(1);
  PixelGrid grid(40, 20);
  std::vector<int> expected(40 * 20), found(40 * 20);
  for (uint32_t box = 0; box < 200; ++box) {
    const uint32_t x = numbers() % 41, y = numbers() % 21, width = numbers() % 3, height = numbers() % 3;
    grid.paint({x + 0.5, y + 0.5, x + width + 0.5, y + height + 0.5}, box, numbers() % 2 ? kRed : kBlue, kMixed);
    for (uint32_t j = y; j <= y + height; ++j) {
      for (uint32_t i = x; i <= x + width; ++i) expected[std::min(j, 19U) * 40 + std::min(i, 39U)] = 1;
    }
  }
  for (const PixelGrid::Patch& patch : grid.patches()) {
    for (uint32_t j = patch.top; j < patch.top + patch.height; ++j) {
      for (uint32_t i = patch.left; i < patch.left + patch.width; ++i) ++found[j * 40 + i];
    }
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace firn::tools
