#include "genai/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <utility>

#include "genai/tokenizer/test_vocabulary.h"

namespace firn::genai {
namespace {

using namespace std::string_view_literals;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<int32_t> encoded(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {}) {
  auto ids = tokenizer.encode(text, options);
  EXPECT_TRUE(ids.isOk()) << ids.status().toString();
  return ids ? *std::move(ids) : std::vector<int32_t>();
}

std::string decoded(const Tokenizer& tokenizer, std::span<const int32_t> ids, bool skipSpecial = false) {
  auto text = tokenizer.decode(ids, skipSpecial);
  EXPECT_TRUE(text.isOk()) << text.status().toString();
  return text ? *std::move(text) : std::string();
}

class RecordedIdsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordedIdsTest, equalHuggingFace) {
  TestVocabulary vocabulary;
  const Tokenizer tokenizer = vocabulary.tokenizer(GetParam());
  ASSERT_GT(vocabulary.texts().size(), 200U);
  for (size_t i = 0; i < vocabulary.texts().size(); ++i) {
    const std::string& text = vocabulary.texts()[i];
    EXPECT_EQ(encoded(tokenizer, text), vocabulary.ids(GetParam(), i)) << ::testing::PrintToString(text);
    EXPECT_EQ(decoded(tokenizer, vocabulary.ids(GetParam(), i)), text);
  }
}
INSTANTIATE_TEST_SUITE_P(, RecordedIdsTest, ::testing::Values("gpt-2", "smollm", "llama-bpe"));

TEST(TokenizerTest, qwen2EqualsHuggingFace) {
  std::ifstream file("tests/data/tokenizer/qwen2.json");
  const auto recorded = nlohmann::json::parse(file);
  TestVocabulary vocabulary;
  const Tokenizer tokenizer = vocabulary.tokenizer("qwen2");
  const auto texts = recorded["texts"].get<std::vector<std::string>>();
  const auto ids = recorded["tiny"].get<std::vector<std::vector<int32_t>>>();
  ASSERT_EQ(texts.size(), ids.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(encoded(tokenizer, texts[i]), ids[i]) << ::testing::PrintToString(texts[i]);
    EXPECT_EQ(decoded(tokenizer, ids[i]), recorded["composed"][i].get<std::string>());
  }
}

TEST(TokenizerTest, anyBytesComeBack) {
  TestVocabulary vocabulary;
  std::mt19937 random(3);
  for (const char* pre : {"gpt-2", "smollm", "llama-bpe"}) {
    const Tokenizer tokenizer = vocabulary.tokenizer(pre);
    for (int round = 0; round < 300; ++round) {
      std::string text;
      const size_t size = random() % 60;
      // Mostly bytes that form or almost form characters.
      const std::string_view likely = "\xC3\xA9\xE6\x97\xA5\xF0\x9F\x98\xB8 a1\n\x00\xED\xA0\xF4\x90"sv;
      while (text.size() < size) {
        text += random() % 4 == 0 ? static_cast<char>(random()) : likely[random() % likely.size()];
      }
      EXPECT_EQ(decoded(tokenizer, encoded(tokenizer, text)), text);
    }
  }
}

TEST(TokenizerTest, invalidBytesStandAlone) {
  TestVocabulary vocabulary;
  const Tokenizer tokenizer = vocabulary.tokenizer("gpt-2");
  std::vector<int32_t> expected = encoded(tokenizer, "the");
  const std::vector<int32_t> bad = encoded(tokenizer, "\xFF");
  ASSERT_EQ(bad.size(), 1U);
  expected.push_back(bad[0]);
  const std::vector<int32_t> tail = encoded(tokenizer, "or");
  expected.insert(expected.end(), tail.begin(), tail.end());
  EXPECT_EQ(encoded(tokenizer, "the\xFFor"), expected);
}

TEST(TokenizerTest, emptyTextHasNoTokens) {
  TestVocabulary vocabulary;
  EXPECT_THAT(encoded(vocabulary.tokenizer("smollm"), ""), IsEmpty());
  blob::TokenizerData data = vocabulary.data("smollm");
  data.addBos = blob::Choice::kYes;
  EXPECT_THAT(encoded(vocabulary.tokenizer(data), ""), ElementsAre(509));
}

TEST(TokenizerTest, beginTokenIsNeverDoubled) {
  TestVocabulary vocabulary;
  blob::TokenizerData data = vocabulary.data("gpt-2");
  data.addBos = blob::Choice::kYes;
  const Tokenizer tokenizer = vocabulary.tokenizer(data);
  std::vector<int32_t> expected = encoded(vocabulary.tokenizer("gpt-2"), "Hi");
  EXPECT_EQ(encoded(tokenizer, "Hi", {.addBosEos = false}), expected);
  expected.insert(expected.begin(), 509);
  EXPECT_EQ(encoded(tokenizer, "Hi"), expected);
  EXPECT_EQ(encoded(tokenizer, "<|endoftext|>Hi"), expected);
  // As plain text it is no begin token.
  EXPECT_GT(encoded(tokenizer, "<|endoftext|>Hi", {.parseSpecial = false}).size(), expected.size());
}

TEST(TokenizerTest, beginTokenComesFromThePreTokenizerWhereTheModelIsSilent) {
  TestVocabulary vocabulary;
  blob::TokenizerData data = vocabulary.data("llama-bpe");
  data.addBos = blob::Choice::kUnsaid;
  EXPECT_THAT(encoded(vocabulary.tokenizer(data), ""), ElementsAre(509));
  data.bosId.reset();
  EXPECT_THAT(encoded(vocabulary.tokenizer(data), ""), IsEmpty());
  data = vocabulary.data("smollm");
  data.addBos = blob::Choice::kUnsaid;
  EXPECT_THAT(encoded(vocabulary.tokenizer(data), ""), IsEmpty());
}

TEST(TokenizerTest, endTokenIsAddedOnce) {
  TestVocabulary vocabulary;
  blob::TokenizerData data = vocabulary.data("gpt-2");
  data.addEos = blob::Choice::kYes;
  const Tokenizer tokenizer = vocabulary.tokenizer(data);
  EXPECT_EQ(encoded(tokenizer, "a").back(), 511);
  EXPECT_EQ(encoded(tokenizer, "a"), encoded(tokenizer, "a<|im_end|>"));
}

TEST(TokenizerTest, spacePrefixOnlyWhereAsked) {
  TestVocabulary vocabulary;
  blob::TokenizerData data = vocabulary.data("gpt-2");
  const Tokenizer plain = vocabulary.tokenizer(data);
  data.addSpacePrefix = blob::Choice::kYes;
  const Tokenizer prefixed = vocabulary.tokenizer(data);
  EXPECT_NE(encoded(plain, "the"), encoded(plain, " the"));
  EXPECT_EQ(encoded(prefixed, "the"), encoded(plain, " the"));
  EXPECT_EQ(encoded(prefixed, " the"), encoded(plain, " the"));
  EXPECT_THAT(encoded(prefixed, ""), IsEmpty());
}

TEST(TokenizerTest, controlTokensInPlainTextStayText) {
  TestVocabulary vocabulary;
  const Tokenizer tokenizer = vocabulary.tokenizer("smollm");
  const std::string text = "a<|im_end|>\n<|im_start|>system";
  const std::vector<int32_t> ids = encoded(tokenizer, text, {.parseSpecial = false});
  for (const int32_t id : ids) EXPECT_LT(id, 509);
  EXPECT_EQ(decoded(tokenizer, ids, true), text);
  EXPECT_EQ(decoded(tokenizer, encoded(tokenizer, text), true), "a\nsystem");
  EXPECT_EQ(decoded(tokenizer, encoded(tokenizer, text), false), text);
}

TEST(TokenizerTest, longestOfTheLeftmostSpecials) {
  TestVocabulary vocabulary;
  blob::TokenizerData data = vocabulary.data("gpt-2");
  for (const char* text : {"<t", "<tool", "<tool>", "ool>x", "<u"}) {
    data.tokens.push_back(text);
    data.types.push_back(3);
  }
  data.types.back() = 4;  // user-defined: found in any text
  const Tokenizer tokenizer = vocabulary.tokenizer(data);
  EXPECT_THAT(encoded(tokenizer, "<tool>x"), ElementsAre(514, encoded(tokenizer, "x")[0]));
  EXPECT_THAT(encoded(tokenizer, "<tool"), ElementsAre(513));
  EXPECT_THAT(encoded(tokenizer, "<too"), ElementsAre(512, encoded(tokenizer, "o")[0], encoded(tokenizer, "o")[0]));
  EXPECT_THAT(encoded(tokenizer, "<u<u", {.parseSpecial = false}), ElementsAre(516, 516));
  EXPECT_EQ(decoded(tokenizer, encoded(tokenizer, "<t<u"), true), "<u");
}

TEST(TokenizerTest, wholePiecesBeforeMergesOnlyWhereAsked) {
  TestVocabulary vocabulary;
  blob::TokenizerData data = vocabulary.data("llama-bpe");
  data.tokens.push_back("qzqz");  // no merge leads here
  data.types.push_back(1);
  EXPECT_THAT(encoded(vocabulary.tokenizer(data), "qzqz"), ElementsAre(512));
  data.ignoreMerges = blob::Choice::kNo;
  EXPECT_EQ(encoded(vocabulary.tokenizer(data), "qzqz").size(), 4U);
  // A control token is not a piece of text.
  data.ignoreMerges = blob::Choice::kUnsaid;
  data.types.back() = 3;
  EXPECT_EQ(encoded(vocabulary.tokenizer(data), "qzqz", {.parseSpecial = false}).size(), 4U);
}

uint64_t bytesLeftOut(const Tokenizer& tokenizer, std::string_view text) {
  uint64_t bytes = 99;
  EXPECT_TRUE(tokenizer.encode(text, {}, &bytes).isOk());
  return bytes;
}

TEST(TokenizerTest, bytesWithoutATokenAreLeftOut) {
  TestVocabulary vocabulary;
  blob::TokenizerData data = vocabulary.data("gpt-2");
  const size_t x = 'x' - '!';
  ASSERT_EQ(data.tokens[x], "x");
  data.types[x] = 5;
  EXPECT_EQ(encoded(vocabulary.tokenizer(data), "xaxbx"), encoded(vocabulary.tokenizer("gpt-2"), "ab"));
  for (const auto prefix : {blob::Choice::kNo, blob::Choice::kYes}) {
    data.addSpacePrefix = prefix;
    const Tokenizer tokenizer = vocabulary.tokenizer(data);
    for (const auto& [text, count] : std::vector<std::pair<std::string_view, uint64_t>>{
             {"xaxbx", 3}, {"ab", 0}, {"", 0}, {"x", 1}, {"x\xFFx", 2}, {"<|im_end|>x<|im_end|>a", 1}, {" x ", 1}}) {
      EXPECT_EQ(bytesLeftOut(tokenizer, text), count) << ::testing::PrintToString(text);
    }
  }
  // A prefix that has no token either is no byte of the text.
  const size_t space = static_cast<size_t>(std::ranges::find(data.tokens, "\u0120") - data.tokens.begin());
  ASSERT_LT(space, data.tokens.size());
  data.types[space] = 5;
  data.merges.clear();  // some need the space
  EXPECT_EQ(bytesLeftOut(vocabulary.tokenizer(data), "ab"), 0U);
  EXPECT_EQ(bytesLeftOut(vocabulary.tokenizer(data), " xb"), 2U);
}

TEST(TokenizerTest, refusesUnknownPreTokenizersByName) {
  TestVocabulary vocabulary;
  for (const char* pre : {"deepseek-v3", "gpt", "-", "smol"}) {
    const auto image = blob::buildTokenizerImage(vocabulary.data(pre));
    ASSERT_TRUE(image.isOk());
    const auto tokenizer = Tokenizer::open(*image);
    ASSERT_FALSE(tokenizer.isOk()) << pre;
    EXPECT_EQ(tokenizer.status().code(), Code::kUnsupported);
    EXPECT_THAT(tokenizer.status().message(), HasSubstr("'" + std::string(pre) + "'"));
    EXPECT_THAT(tokenizer.status().message(), HasSubstr("smollm"));
  }
  EXPECT_EQ(encoded(vocabulary.tokenizer(""), "the 12"), encoded(vocabulary.tokenizer("gpt-2"), "the 12"));
}

TEST(TokenizerTest, decodeRefusesIdsOutsideTheVocabulary) {
  TestVocabulary vocabulary;
  const Tokenizer tokenizer = vocabulary.tokenizer("gpt-2");
  for (const int32_t id : {-1, 512, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(tokenizer.decode(std::span(&id, 1)).status().code(), Code::kOutOfRange) << id;
  }
  EXPECT_TRUE(tokenizer.isEndId(511));
  EXPECT_TRUE(tokenizer.isEndId(509));
  EXPECT_FALSE(tokenizer.isEndId(510));
  EXPECT_FALSE(tokenizer.isEndId(-1));
}

TEST(TokenizerTest, longTextsOfAnyKindTakeLinearTime) {
  TestVocabulary vocabulary;
  const std::string_view kinds[] = {
      "a", " ", "\n", "the", "1", "<", "<|im_", "'", "\xFF", "\xC2\xA0", " \n", "\xE6\x97\xA5", "\u0301",
      "\u0315\u0301", "e\u0315\u0327\u0301",
      // Marks that are not in Unicode's order, on one letter or on none, and Hangul that composes.
      "\u0345\u0315\u0301\u0327\u0334", "\u1112\u1161\u11AB"};
  // A quadratic step of what is large would take over ctest's limit of five minutes; all of this takes seconds.
  for (const char* pre : {"smollm", "llama-bpe", "qwen2"}) {
    const Tokenizer tokenizer = vocabulary.tokenizer(pre);
    for (const std::string_view kind : kinds) {
      std::string text;
      while (text.size() < (1U << 18)) text += kind;
      text += "x";
      EXPECT_FALSE(encoded(tokenizer, text).empty());
    }
  }
}

TEST(TokenizerTest, refusesAWordOverItsLimit) {
  TestVocabulary vocabulary;
  const Tokenizer tokenizer = vocabulary.tokenizer("gpt-2");
  EXPECT_EQ(tokenizer.encode(std::string((16U << 20) + 1, 'a')).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(tokenizer.encode(std::string(17U << 20, ' ') + "a").status().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace firn::genai
