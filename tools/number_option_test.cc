#include "tools/number_option.h"

#include <gtest/gtest.h>

namespace firn::tools {
namespace {

TEST(NumberOptionTest, TakesDecimalNumbersInRange) {
  EXPECT_EQ(*parseNumber("0", {}), 0);
  EXPECT_EQ(*parseNumber("010", {}), 10);  // not octal
  EXPECT_EQ(*parseNumber("-3", {.least = -3}), -3);
  EXPECT_EQ(*parseNumber("9223372036854775807", {}), INT64_MAX);
  for (const char* bad : {"", " 1", "1 ", "+1", "0x10", "1e3", "1.5", "-1", "9223372036854775808", "ten", "1,2"}) {
    EXPECT_EQ(parseNumber(bad, {}).status().code(), Code::kInvalidArgument) << bad;
  }
  EXPECT_EQ(parseNumber("7", {1, 6}).status().message(),
            "found '7', expected a whole number of at least 1 and at most 6");
}

TEST(NumberOptionTest, TakesFractionsOfAtLeastZero) {
  EXPECT_EQ(*parseFraction("0"), 0.0F);
  EXPECT_EQ(*parseFraction("0.5"), 0.5F);
  EXPECT_EQ(*parseFraction("1e-3"), 1e-3F);
  for (const char* bad : {"", "-1", "nan", "inf", "1e99", "0.5 ", "+1", "half", "0,5"}) {
    EXPECT_EQ(parseFraction(bad).status().code(), Code::kInvalidArgument) << bad;
  }
}

TEST(NumberOptionTest, ListsHaveNoGaps) {
  EXPECT_EQ(*parseNumberList("5", {}), std::vector<int64_t>{5});
  EXPECT_EQ(*parseNumberList("1,2,3", {}), (std::vector<int64_t>{1, 2, 3}));
  for (const char* bad : {"", ",", "1,", ",1", "1,,2", "[1,2]", "1, 2"}) {
    EXPECT_FALSE(parseNumberList(bad, {}).isOk()) << bad;
  }
}

TEST(NumberOptionTest, AListLeavesTheNextArgumentAlone) {
  CLI::App app;
  std::vector<uint32_t> sizes;
  std::string model;
  addNumberList(app, "--sizes", sizes, "", {1});
  app.add_option("model", model);
  app.parse("--sizes 16,64 file");
  EXPECT_EQ(sizes, (std::vector<uint32_t>{16, 64}));
  EXPECT_EQ(model, "file");
  EXPECT_THROW(app.parse("--sizes 0 file"), CLI::ValidationError);
}

}  // namespace
}  // namespace firn::tools
