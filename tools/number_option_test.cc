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

TEST(NumberOptionTest, TakesFractionsOfARange) {
  constexpr float kMost = 1e6F;
  EXPECT_EQ(*parseFraction("0", kMost), 0.0F);
  EXPECT_EQ(*parseFraction("0.5", kMost), 0.5F);
  EXPECT_EQ(*parseFraction("1e-3", kMost), 1e-3F);
  EXPECT_EQ(*parseFraction("1e6", kMost), kMost);
  // Beyond the option's range, a float's and a double's: one refusal, with the number as it was typed.
  for (const char* bad :
       {"", "-1", "nan", "inf", "1e7", "1000001", "1e38", "1e99", "1e300", "1e999", "0.5 ", "+1", "half", "0,5"}) {
    const Status status = parseFraction(bad, kMost).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << bad;
    EXPECT_EQ(status.message(), "found '" + std::string(bad) + "', expected a number from 0 to 1000000, like 0.7");
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
