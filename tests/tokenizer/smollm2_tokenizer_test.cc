// The tokenizer of the real SmolLM2 model, from its GGUF: ids equal to those recorded from Hugging Face tokenizers and
// llama.cpp. The model's path comes from FIRN_SMOLLM2; without it everything is skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "compiler/import/import.h"
#include "genai/tokenizer/stream_decoder.h"
#include "genai/tokenizer/tokenizer.h"

namespace firn {
namespace {

using ::testing::ElementsAre;

class SmolLm2TokenizerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("FIRN_SMOLLM2");
    if (path == nullptr) GTEST_SKIP() << "FIRN_SMOLLM2 does not name SmolLM2-135M-Instruct.Q4_1.gguf";
    auto image = import::importTokenizer(path);
    ASSERT_TRUE(image.isOk()) << image.status().toString();
    imageBytes = *std::move(image);
    const auto start = std::chrono::steady_clock::now();
    auto opened = genai::Tokenizer::open(imageBytes);
    const std::chrono::duration<double, std::milli> openMs = std::chrono::steady_clock::now() - start;
    ASSERT_TRUE(opened.isOk()) << opened.status().toString();
    tokenizer.emplace(*std::move(opened));
    RecordProperty("open_ms", std::to_string(openMs.count()));
    RecordProperty("image_bytes", std::to_string(imageBytes.size()));
    std::ifstream file("tests/data/tokenizer/smollm2.json");
    recorded = nlohmann::json::parse(file);
  }

  std::vector<int32_t> encoded(std::string_view text) const {
    auto ids = tokenizer->encode(text);
    EXPECT_TRUE(ids.isOk()) << ids.status().toString();
    return ids ? *std::move(ids) : std::vector<int32_t>();
  }

  std::vector<std::byte> imageBytes;
  std::optional<genai::Tokenizer> tokenizer;
  nlohmann::json recorded;
};

TEST_F(SmolLm2TokenizerTest, recordedTexts) {
  const auto texts = recorded["texts"].get<std::vector<std::string>>();
  const auto ids = recorded["ids"].get<std::vector<std::vector<int32_t>>>();
  ASSERT_EQ(texts.size(), ids.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(encoded(texts[i]), ids[i]) << ::testing::PrintToString(texts[i]);
  }
}

TEST_F(SmolLm2TokenizerTest, longText) {
  std::ifstream file("/usr/share/common-licenses/GPL-3", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (text.empty()) GTEST_SKIP() << "no GPL-3 in /usr/share/common-licenses";
  const auto start = std::chrono::steady_clock::now();
  const std::vector<int32_t> ids = encoded(text);
  const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
  RecordProperty("encode_ms", std::to_string(ms.count()));
  EXPECT_EQ(ids.size(), 7639U);
  EXPECT_EQ(ids, recorded["gpl3"].get<std::vector<int32_t>>());
  EXPECT_EQ(*tokenizer->decode(ids), text);
}

TEST_F(SmolLm2TokenizerTest, streamsWholeCharacters) {
  genai::StreamDecoder decoder(*tokenizer);
  std::vector<std::string> pieces;
  for (const int32_t id : {23274, 115, 40993}) pieces.push_back(*decoder.push(id));
  EXPECT_THAT(pieces, ElementsAre("", "日", "本"));
}

TEST_F(SmolLm2TokenizerTest, asciiAndCommonScriptsComeBack) {
  std::mt19937 random(11);
  // Lead bytes of these ranges are in the vocabulary.
  const std::pair<uint32_t, uint32_t> ranges[] = {{1, 0x7F}, {0xA0, 0x17F}, {0x391, 0x3C9}, {0x4E00, 0x9FFF}};
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (size_t n = random() % 50; n > 0; --n) {
      const auto [low, high] = ranges[random() % std::size(ranges)];
      const uint32_t c = low + random() % (high - low + 1);
      if (c >= 0x800) text += static_cast<char>(0xE0 | c >> 12);
      if (c >= 0x80) text += static_cast<char>(c >= 0x800 ? 0x80 | (c >> 6 & 0x3F) : 0xC0 | c >> 6);
      text += static_cast<char>(c >= 0x80 ? 0x80 | (c & 0x3F) : c);
    }
    std::string expected;
    for (const char byte : text) {
      if (tokenizer->image().byteToken(static_cast<uint8_t>(byte)) != blob::kNoToken) expected += byte;
    }
    EXPECT_EQ(*tokenizer->decode(encoded(text)), expected);
  }
}

TEST_F(SmolLm2TokenizerTest, endTokens) {
  EXPECT_THAT(tokenizer->image().endIds(), ElementsAre(0, 2));
  EXPECT_TRUE(tokenizer->isEndId(2));
  EXPECT_FALSE(tokenizer->isEndId(1));
}

}  // namespace
}  // namespace firn
