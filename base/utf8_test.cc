#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace firn {
namespace {

TEST(Utf8Test, AcceptsEveryLengthAndItsBounds) {
  for (std::string text : {"", "a", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "firn \xE9\x9B\xAA"}) {
    EXPECT_TRUE(isUtf8(text)) << text;
  }
}

TEST(Utf8Test, RefusesOverlongSurrogatesBeyondAndCut) {
  for (std::string text : {"\x80", "\xC0\x80", "\xC1\xBF", "\xC2", "\xE0\x9F\xBF", "\xE0\xA0", "\xED\xA0\x80",
                           "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE1\x80\x41", "ab\xFF"}) {
    EXPECT_FALSE(isUtf8(text));
  }
}

TEST(Utf8Test, FirstCharacterSaysHowMuchOfABadOneBelongsTogether) {
  const auto first = [](std::string_view text) {
    const Utf8Span span = firstCharacter(text);
    return std::pair(span.kind, span.bytes);
  };
  EXPECT_EQ(first("\xF0\x9F\x98\x80x"), std::pair(Utf8Kind::kValid, size_t{4}));
  EXPECT_EQ(first("\xF0\x9F\x98"), std::pair(Utf8Kind::kIncomplete, size_t{3}));
  EXPECT_EQ(first("\xF0\x9F\x98x"), std::pair(Utf8Kind::kInvalid, size_t{3}));
  EXPECT_EQ(first("\xED\xA0\x80"), std::pair(Utf8Kind::kInvalid, size_t{1})) << "a surrogate";
  EXPECT_EQ(first("\xC0\x80"), std::pair(Utf8Kind::kInvalid, size_t{1})) << "an overlong form";
  EXPECT_EQ(first("\x80"), std::pair(Utf8Kind::kInvalid, size_t{1}));
}

TEST(Utf8Test, PrintableHasNoControls) {
  EXPECT_TRUE(isPrintableUtf8("attn_q \xE9\x9B\xAA"));
  EXPECT_FALSE(isPrintableUtf8("a\x1B[2J"));
  EXPECT_FALSE(isPrintableUtf8("a\x7F"));
  EXPECT_FALSE(isPrintableUtf8("\xC2\x80"));
  EXPECT_FALSE(
      isPrintableUtf8("\xC2\x9B"
                      "2J"));
  EXPECT_FALSE(isPrintableUtf8("a\xC2\x9F"));
  EXPECT_TRUE(isPrintableUtf8("\xC2\xA0"));
  EXPECT_FALSE(isPrintableUtf8(std::string(1, '\0')));
}

}  // namespace
}  // namespace firn
