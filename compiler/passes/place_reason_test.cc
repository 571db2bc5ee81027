#include "compiler/passes/place_reason.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/concat.h"
#include "blob/layout.h"

namespace firn::passes {
namespace {

using testing::EndsWith;
using testing::Not;

const Refusal kGelu = {"cpu", "graph.gelu", "it has gelu only in the tanh form"};

TEST(PlaceReasonTest, LayersAreRuns) {
  EXPECT_EQ(whereText({kOutsideLayers}), "outside the layers");
  EXPECT_EQ(whereText({4}), "in layer 4");
  EXPECT_EQ(whereText({0, 1, 2, 3}), "in layers 0 to 3");
  EXPECT_EQ(whereText({0, 1, 3, 5, 6}), "in layers 0 to 1, 3, 5 to 6");
  EXPECT_EQ(whereText({kOutsideLayers, 0, 1}), "outside the layers and in layers 0 to 1");
  EXPECT_EQ(whereText({0, 2, 4, 6, 8, 12}), "in 6 of layers 0 to 12");
}

TEST(PlaceReasonTest, EachReasonStandsOnce) {
  PlaceReason reason;
  for (const int64_t layer : {3, 1, 2}) {
    reason.addOption("--place head=cpu");
    reason.addOption("");
    reason.addRefusal(kGelu, layer);
  }
  EXPECT_EQ(reason.text(), "--place head=cpu; cpu cannot run gelu in layers 1 to 3: it has gelu only in the tanh form");
}

TEST(PlaceReasonTest, ManyReasonsFitABlobAndEndWhole) {
  PlaceReason reason;
  for (int i = 0; i < 40; ++i) {
    reason.addRefusal({"cpu", concat("graph.op", i), "it has no kernel for it"}, i);
    EXPECT_LE(reason.text().size(), blob::kMaxStringBytes) << i;
    EXPECT_THAT(reason.text(), EndsWith(i < 4 ? "for it" : concat("for it; and ", i - 3, " more"))) << i;
  }
  PlaceReason one;
  one.addOption(std::string(blob::kMaxStringBytes, 'x'));
  EXPECT_EQ(one.text().size(), blob::kMaxStringBytes);
  one.addOption("y");
  EXPECT_LE(one.text().size(), blob::kMaxStringBytes);
}

}  // namespace
}  // namespace firn::passes
