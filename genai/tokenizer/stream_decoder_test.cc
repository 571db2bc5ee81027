#include "genai/tokenizer/stream_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"
#include "genai/tokenizer/test_vocabulary.h"

namespace firn::genai {
namespace {

using namespace std::string_view_literals;

std::string streamed(std::string_view bytes, size_t step) {
  Utf8Stream stream;
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += step) {
    const std::string piece = stream.push(bytes.substr(at, step));
    EXPECT_TRUE(isUtf8(piece));
    EXPECT_LT(stream.pending().size(), 4U);
    out += piece;
  }
  return out;
}

#define FFFD "\xEF\xBF\xBD"

TEST(Utf8StreamTest, replacesMaximalParts) {
  // The first two are the examples of Unicode 15, tables 3-8 and 3-11.
  EXPECT_EQ(streamed("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", 1), FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A");
  EXPECT_EQ(streamed("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", 1), FFFD FFFD FFFD FFFD "A");
  EXPECT_EQ(streamed("\xED\xA0\x80", 1), FFFD FFFD FFFD);
  EXPECT_EQ(streamed("\xF4\x90\x80\x80|\xF4\x8F\xBF\xBF", 1), FFFD FFFD FFFD FFFD "|\xF4\x8F\xBF\xBF");
  EXPECT_EQ(streamed("\xFF\xFE", 2), FFFD FFFD);
}

TEST(Utf8StreamTest, holdsBackUntilCertain) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xF0\x9F"), "a");
  EXPECT_EQ(stream.pending(), "\xF0\x9F");
  EXPECT_EQ(stream.push("\x98"), "");
  EXPECT_EQ(stream.push("\xB8z"), "\xF0\x9F\x98\xB8z");
  EXPECT_EQ(stream.push("\xE6\x97"), "");
  EXPECT_EQ(stream.push("x"), FFFD "x");
  EXPECT_EQ(stream.push("\xE6"), "");
  stream.reset();
  EXPECT_EQ(stream.push("ok"), "ok");
}

TEST(Utf8StreamTest, splitsDoNotMatter) {
  std::mt19937 random(5);
  const std::string_view likely = "a\xC3\xA9\xE6\x97\xA5\xF0\x9F\x98\xB8\xED\xA0\xF4\x90\xE0\xC0"sv;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    const size_t size = random() % 40;
    while (bytes.size() < size) bytes += likely[random() % likely.size()];
    const std::string whole = streamed(bytes, bytes.size() + 1);
    for (const size_t step : {1U, 2U, 3U, 5U}) EXPECT_EQ(streamed(bytes, step), whole);
  }
}

TEST(StreamDecoderTest, piecesJoinToTheText) {
  TestVocabulary vocabulary;
  const Tokenizer tokenizer = vocabulary.tokenizer("smollm");
  for (size_t i = 0; i < vocabulary.texts().size(); ++i) {
    StreamDecoder decoder(tokenizer);
    std::string joined;
    const std::vector<int32_t> ids = vocabulary.ids("smollm", i);
    for (const int32_t id : ids) {
      const auto piece = decoder.push(id);
      ASSERT_TRUE(piece.isOk());
      EXPECT_TRUE(isUtf8(*piece));
      EXPECT_EQ(piece->find(FFFD), std::string::npos);
      joined += *piece;
    }
    EXPECT_EQ(joined, *tokenizer.decode(ids));
  }
}

TEST(StreamDecoderTest, refusesIdsOutsideTheVocabulary) {
  TestVocabulary vocabulary;
  const Tokenizer tokenizer = vocabulary.tokenizer("smollm");
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push(512).status().code(), Code::kOutOfRange);
}

}  // namespace
}  // namespace firn::genai
