#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace firn {
namespace {

TEST(Utf8, AcceptsEveryLengthAndItsBounds) {
  for (std::string text : {"", "a", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "firn \xE9\x9B\xAA"}) {
    EXPECT_TRUE(isUtf8(text)) << text;
  }
}

TEST(Utf8, RefusesOverlongSurrogatesBeyondAndCut) {
  for (std::string text : {"\x80", "\xC0\x80", "\xC1\xBF", "\xC2", "\xE0\x9F\xBF", "\xE0\xA0", "\xED\xA0\x80",
                           "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE1\x80\x41", "ab\xFF"}) {
    EXPECT_FALSE(isUtf8(text));
  }
}

TEST(Utf8, PrintableHasNoControls) {
  EXPECT_TRUE(isPrintableUtf8("attn_q \xE9\x9B\xAA"));
  EXPECT_FALSE(isPrintableUtf8("a\x1B[2J"));
  EXPECT_FALSE(isPrintableUtf8("a\x7F"));
  EXPECT_FALSE(isPrintableUtf8(std::string(1, '\0')));
}

}  // namespace
}  // namespace firn
