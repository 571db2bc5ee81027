#include "compiler/passes/interval_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace firn::passes {
namespace {

TEST(IntervalAllocatorTest, ReusesMemoryAfterTheLastUse) {
  uint64_t area = 0;
  auto offsets = allocateIntervals({{0, 1, 100}, {2, 3, 100}, {1, 2, 64}}, 64, area);
  EXPECT_THAT(offsets, testing::ElementsAre(0, 0, 128));
  EXPECT_EQ(area, 192);
}

TEST(IntervalAllocatorTest, NothingToPlace) {
  uint64_t area = 7;
  EXPECT_TRUE(allocateIntervals({}, 64, area).empty());
  EXPECT_EQ(area, 0);
}

TEST(IntervalAllocatorTest, NeverOverlapsInTimeAndMemory) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> intervals;
    for (int i = 0; i < 40; ++i) {
      uint64_t first = random() % 20;
      intervals.push_back({first, first + random() % 6, 1 + random() % 500});
    }
    uint64_t area = 0;
    auto offsets = allocateIntervals(intervals, 64, area);
    for (size_t a = 0; a < intervals.size(); ++a) {
      EXPECT_EQ(offsets[a] % 64, 0);
      EXPECT_LE(offsets[a] + intervals[a].bytes, area);
      for (size_t b = 0; b < a; ++b) {
        bool meetInTime = intervals[a].first <= intervals[b].last && intervals[b].first <= intervals[a].last;
        bool meetInMemory =
            offsets[a] < offsets[b] + intervals[b].bytes && offsets[b] < offsets[a] + intervals[a].bytes;
        EXPECT_FALSE(meetInTime && meetInMemory) << a << " and " << b << " in round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace firn::passes
