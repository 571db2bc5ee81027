#include "compiler/target/cpu/lane_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace firn::target {
namespace {

TEST(SplitColumnsTest, CoversEveryColumnOnceWithAlignedBoundaries) {
  for (int64_t total : {1, 31, 32, 33, 72, 160, 1536, 49152}) {
    for (int lanes : {1, 2, 3, 7, 64}) {
      int64_t next = 0;
      for (const Range& range : splitColumns(total, 32, lanes)) {
        EXPECT_EQ(range.first, next) << total << " in " << lanes;
        EXPECT_TRUE(range.count == 0 || range.first % 32 == 0) << total << " in " << lanes;
        next += range.count;
      }
      EXPECT_EQ(next, total) << lanes;
    }
  }
}

TEST(SplitColumnsTest, IsEven) {
  EXPECT_THAT(splitColumns(1536, 32, 2), testing::ElementsAre(Range{0, 768}, Range{768, 768}));
  EXPECT_THAT(splitColumns(160, 32, 2), testing::ElementsAre(Range{0, 64}, Range{64, 96}));
}

TEST(SplitHeadsTest, BalancesKvAgainstQueryHeads) {
  HeadSplit split = splitHeads(9, 3, 64, 2);
  EXPECT_THAT(split.query, testing::ElementsAre(Range{0, 4}, Range{4, 5}));
  EXPECT_THAT(split.kv, testing::ElementsAre(Range{0, 2}, Range{2, 1}));
}

TEST(SplitHeadsTest, SmallHeadsGoInGroupsOf32Columns) {
  HeadSplit split = splitHeads(9, 3, 8, 4);
  EXPECT_THAT(split.query, testing::ElementsAre(Range{0, 0}, Range{0, 4}, Range{4, 4}, Range{8, 1}));
  int64_t owned = 0;
  for (const Range& range : split.kv) owned += range.count;
  EXPECT_EQ(owned, 3);
}

TEST(SplitHeadsTest, OneLaneHasAll) {
  HeadSplit split = splitHeads(32, 8, 64, 1);
  EXPECT_THAT(split.query, testing::ElementsAre(Range{0, 32}));
  EXPECT_THAT(split.kv, testing::ElementsAre(Range{0, 8}));
}

}  // namespace
}  // namespace firn::target
