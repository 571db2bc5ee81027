#include "base/quote.h"

#include <gtest/gtest.h>

namespace firn {
namespace {

TEST(QuoteTest, QuotesEscapesAndCuts) {
  EXPECT_EQ(quoted(""), "''");
  EXPECT_EQ(quoted("a b~"), "'a b~'");
  EXPECT_EQ(quoted("\x1B[2J\n\x7F\xC3\xA9"), "'\\x1b[2J\\x0a\\x7f\\xc3\\xa9'");
  EXPECT_EQ(firn::quoted(std::string(80, 'a')), "'" + std::string(80, 'a') + "'");
  EXPECT_EQ(firn::quoted(std::string(81, 'a')), "'" + std::string(80, 'a') + "...'");
}

TEST(QuoteTest, PathsAreQuotedOnlyWhenTheyMust) {
  const std::string longPath = "/" + std::string(200, 'a') + "/\xC3\xA9";
  EXPECT_EQ(printablePath(longPath), longPath);
  EXPECT_EQ(printablePath("/tmp/\x1B]0;x\x07" + std::string(100, 'b')),
            "'/tmp/\\x1b]0;x\\x07" + std::string(100, 'b') + "'");
  EXPECT_EQ(printablePath("\xFF"), "'\\xff'");
}

}  // namespace
}  // namespace firn
