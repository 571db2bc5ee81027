#include "genai/tokenizer/compose.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace firn::genai {
namespace {

std::string ofText(std::string_view text) {
  auto result = composed(text);
  EXPECT_TRUE(result.isOk()) << result.status().toString();
  return result ? *std::move(result) : std::string();
}

TEST(ComposeTest, equalsHuggingFace) {
  std::ifstream file("tests/data/tokenizer/qwen2.json");
  const auto recorded = nlohmann::json::parse(file);
  const auto texts = recorded["texts"].get<std::vector<std::string>>();
  size_t changed = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto expected = recorded["composed"][i].get<std::string>();
    EXPECT_EQ(ofText(texts[i]), expected) << ::testing::PrintToString(texts[i]);
    EXPECT_EQ(ofText(expected), expected) << "a composed text stays";
    changed += texts[i] == expected ? 0 : 1;
  }
  EXPECT_GT(changed, 30U);
}

TEST(ComposeTest, MarksMeetTheCharacterBeforeThemWhereverTheyStand) {
  EXPECT_EQ(ofText(""), "");
  EXPECT_EQ(ofText(std::string_view("a\0b", 3)), std::string_view("a\0b", 3));
  for (const std::string before : {"", "x", "xy ", "\u00E9", "\u00E9 "}) {
    for (const std::string after : {"", "z", " \u00E9", "e", "\u65E5"}) {
      EXPECT_EQ(ofText(before + "e\u0301" + after), before + "\u00E9" + after);
      EXPECT_EQ(ofText(before + "\U0001D15E" + after), before + "\U0001D157\U0001D165" + after) << "never composed";
    }
  }
}

}  // namespace
}  // namespace firn::genai
