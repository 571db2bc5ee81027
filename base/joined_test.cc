#include "base/joined.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace firn {
namespace {

TEST(JoinedTest, SeparatorsStandBetweenPieces) {
  EXPECT_EQ(joined(std::vector<uint32_t>{}, ","), "");
  EXPECT_EQ(joined(std::vector<uint32_t>{16}, ","), "16");
  EXPECT_EQ(joined(std::vector<uint32_t>{16, 64, 256}, ","), "16,64,256");
  EXPECT_EQ(joined(std::array<std::string_view, 2>{"cpu", "reference"}, " and "), "cpu and reference");
}

TEST(JoinedTest, APieceIsAMemberOrWhatAFunctionGives) {
  struct Named {
    std::string_view name;
  };
  const std::array<Named, 2> list = {{{"a"}, {"b"}}};
  EXPECT_EQ(joined(list, ", ", &Named::name), "a, b");
  EXPECT_EQ(joined(list, ", ", [](const Named& one) { return std::string(one.name) + "!"; }), "a!, b!");
}

}  // namespace
}  // namespace firn
