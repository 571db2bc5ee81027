#include "genai/tokenizer/compose.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
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

/// What utf8proc makes of a whole text, NFC.
std::string byLibrary(const std::string& text) {
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> bytes(
      utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t*>(text.c_str())), &std::free);
  return reinterpret_cast<const char*>(bytes.get());
}

TEST(ComposeTest, EveryCharacterAndEveryOrderOfMarksIsAsTheLibraryHasIt) {
  std::mt19937 random(1);
  std::vector<std::string> marks;
  std::vector<std::string> others;
  for (utf8proc_int32_t character = 1; character < 0x110000; ++character) {
    if (!utf8proc_codepoint_valid(character)) continue;
    std::array<utf8proc_uint8_t, 4> bytes{};
    const auto size = static_cast<size_t>(utf8proc_encode_char(character, bytes.data()));
    const std::string text(reinterpret_cast<const char*>(bytes.data()), size);
    const utf8proc_property_t* property = utf8proc_get_property(character);
    if (property->category == UTF8PROC_CATEGORY_CN || property->category == UTF8PROC_CATEGORY_CO) continue;
    EXPECT_EQ(ofText(text), byLibrary(text)) << std::hex << character;
    (property->combining_class != 0 ? marks : others).push_back(text);
  }
  const auto any = [&](const std::vector<std::string>& from) { return from[random() % from.size()]; };
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (unsigned left = random() % 10; left > 0; --left) {
      // Letters that compose, more often than chance has them.
      text += random() % 3 == 0 ? any(others) : std::string(1, "aeiouAEIOUcnsz"[random() % 14]);
      for (unsigned count = random() % 6; count > 0; --count) text += any(marks);
    }
    EXPECT_EQ(ofText(text), byLibrary(text)) << ::testing::PrintToString(text);
  }
}

TEST(ComposeTest, ALongRunOfMarksTakesNoQuadraticTime) {
  // A step of quadratic time would take an hour, far over ctest's limit; this takes half a second.
  std::string text = "e";
  while (text.size() < (1U << 22)) text += "\u0315\u0301";
  const std::string whole = ofText(text);
  EXPECT_TRUE(whole.starts_with("\u00E9\u0301\u0301"));
  EXPECT_TRUE(whole.ends_with("\u0315\u0315"));
  EXPECT_EQ(whole.size(), text.size() - 1);  // e and its mark are one character of two bytes
}

}  // namespace
}  // namespace firn::genai
