#include "compiler/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace firn::compiler {
namespace {

using testing::HasSubstr;

TEST(PlacementTest, ReadsEveryForm) {
  const auto places = parsePlaces("layers[0:4]=reference,layers[7:]=cpu,head=reference");
  ASSERT_TRUE(places) << places.status().toString();
  ASSERT_EQ(places->size(), 3U);
  EXPECT_EQ((*places)[0].first, 0U);
  EXPECT_EQ((*places)[0].end, 4U);
  EXPECT_EQ((*places)[0].target, "reference");
  EXPECT_EQ((*places)[0].text, "layers[0:4]=reference");
  EXPECT_EQ((*places)[1].first, 7U);
  EXPECT_EQ((*places)[1].end, kToTheEnd);
  EXPECT_TRUE((*places)[2].isHead);
  EXPECT_TRUE(checkPlaces(*places, 8));
  EXPECT_EQ(parsePlaces("layers[:3]=cpu")->front().end, 3U);
  EXPECT_EQ(parsePlaces("layers=cpu")->front().first, 0U);
  EXPECT_EQ(parsePlaces("layers[:]=cpu")->front().end, kToTheEnd);
  EXPECT_TRUE(parsePlaces("")->empty());
}

struct Bad {
  std::string text;
  std::string said;
};

TEST(PlacementTest, RefusesByName) {
  const Bad cases[] = {
      {"layers[0:4]", "expected WHAT=DEVICE"},
      {"=cpu", "expected head, layers or layers[FIRST:END]"},
      {"layer[0:4]=cpu", "expected head, layers or layers[FIRST:END]"},
      {"layers[0:4=cpu", "expected head, layers or layers[FIRST:END]"},
      {"layers0:4]=cpu", "expected head, layers or layers[FIRST:END]"},
      {"layers[]=cpu", "expected head, layers or layers[FIRST:END]"},
      {"layers[4]=cpu", "one layer is written layers[4:5]"},
      {"layers[29]=reference", "expected head, layers or layers[FIRST:END] before the '='; one layer"},
      {"layers[4294967294]=cpu", "expected head, layers or layers[FIRST:END]"},
      {"layers[x]=cpu", "expected head, layers or layers[FIRST:END]"},
      {"tail=cpu", "expected head, layers or layers[FIRST:END]"},
      {"layers[0:4]=toaster", "no device 'toaster', expected one of cpu, npu, reference"},
      {"layers[0:4]=", "no device '', expected one of cpu, npu, reference"},
      {"layers[a:4]=cpu", "layer numbers"},
      {"layers[-1:4]=cpu", "layer numbers"},
      {"layers[0: 4]=cpu", "layer numbers"},
      {"layers[0:4:6]=cpu", "layer numbers"},
      {"layers[0:99999999999]=cpu", "layer numbers"},
      {"layers[00000000001:2]=cpu", "layer numbers"},
      {"layers[4:4]=cpu", "holds no layer"},
      {"layers[4:2]=cpu", "holds no layer"},
      {"layers[0:4]=cpu,layers[3:5]=reference", "places again what 'layers[0:4]=cpu' places"},
      {"layers[2:]=cpu,layers=reference", "places again"},
      {"head=cpu,head=cpu", "places again"},
      {"head=cpu,", "missing behind the last comma"},
      {",head=cpu", "expected WHAT=DEVICE"},
  };
  for (const Bad& bad : cases) {
    const Status status = parsePlaces(bad.text).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << bad.text;
    EXPECT_THAT(status.message(), testing::AllOf(HasSubstr("--place"), HasSubstr(bad.said))) << bad.text;
  }
}

TEST(PlacementTest, LayersMustExist) {
  for (const char* text : {"layers[0:9]=cpu", "layers[8:]=cpu", "layers[8:9]=reference"}) {
    const Status status = checkPlaces(*parsePlaces(text), 8);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), testing::AllOf(HasSubstr(text), HasSubstr("layers 0 to 7")));
  }
  EXPECT_TRUE(checkPlaces(*parsePlaces("layers[0:8]=cpu"), 8));
}

}  // namespace
}  // namespace firn::compiler
