// A session is as good as new for every conversation, and what it keeps of the last one is worth the same bits.
#include <gtest/gtest.h>

#include "genai/pipeline.h"
#include "tests/e2e/compiled_model.h"
#include "tools/engine_adapter.h"

namespace firn::e2e {
namespace {

constexpr uint32_t kVocab = 512;

class ConversationTest : public testing::TestWithParam<std::string> {
 protected:
  compiler::CompileOptions compile() const { return smallCompile(GetParam()); }
  std::vector<float> fresh(std::span<const int32_t> ids) const { return lastLogits(*openSession(compile()), ids); }

  const std::vector<int32_t> ids = someIds(128, kVocab);
  SessionPtr session = openSession(compile());
};

TEST_P(ConversationTest, AHundredInARowGiveTheSameAnswer) {
  tools::SessionEngine engine(*session);
  const genai::GenerateOptions options{.maxTokens = 20, .ignoreEos = true};
  const auto other = someIds(90, kVocab, 7);
  const auto first = need(genai::generate(engine, nullptr, std::span(ids).first(50), options));
  for (uint32_t chat = 0; chat < 100; ++chat) {
    need(genai::generate(engine, nullptr, std::span(other).first(1 + chat % other.size()), options));
    const auto again = need(genai::generate(engine, nullptr, std::span(ids).first(50), options));
    ASSERT_EQ(again.tokens, first.tokens) << "chat " << chat;
  }
}

TEST_P(ConversationTest, TwoTurnsAreOneLongPrompt) {
  const std::vector<float> expected = fresh(std::span(ids).first(110));
  need(session->prefill(std::span(ids).first(40)));
  need(session->prefill(std::span(ids).subspan(40, 1)));
  stepLogits(*session, std::span(ids).subspan(41, 19));
  EXPECT_EQ(differenceInBits(lastLogits(*session, std::span(ids).subspan(60, 50)), expected), "");
}

TEST_P(ConversationTest, AKeptPrefixIsWorthTheSame) {
  constexpr uint32_t kCached = 100;
  std::vector<int32_t> changedMiddle(ids.begin(), ids.begin() + kCached);
  changedMiddle[50] = (changedMiddle[50] + 1) % static_cast<int32_t>(kVocab);
  struct Case {
    const char* name;
    uint32_t keep;
    std::vector<int32_t> prompt;
  };
  const auto firstIds = [&](uint32_t count) { return std::vector<int32_t>(ids.begin(), ids.begin() + count); };
  const Case cases[] = {{"the same prompt again", kCached - 1, firstIds(kCached)},
                        {"a proper prefix", 59, firstIds(60)},
                        {"one token more", kCached, firstIds(kCached + 1)},
                        {"another first token", 0, someIds(kCached, kVocab, 9)},
                        {"another token in the middle", 50, changedMiddle},
                        {"another prompt", 0, someIds(30, kVocab, 11)}};
  for (const Case& testCase : cases) {
    need(session->rewind(0));
    need(session->prefill(firstIds(kCached)));
    need(session->rewind(testCase.keep));
    const std::vector<float> logits = lastLogits(*session, std::span(testCase.prompt).subspan(testCase.keep));
    EXPECT_EQ(differenceInBits(logits, fresh(testCase.prompt)), "") << testCase.name;
    EXPECT_EQ(session->position(), testCase.prompt.size());
  }
}

TEST_P(ConversationTest, SessionsOfOneModelDoNotMeet) {
  const auto model = need(engine::Model::open(blobOf(compile()), {}));
  const auto a = need(engine::Session::create(model));
  const auto b = need(engine::Session::create(model));
  const std::vector<int32_t> other = someIds(80, kVocab, 5);
  std::vector<float> logitsOfA;
  std::vector<float> logitsOfB;
  for (uint32_t i = 0; i < 80; ++i) {
    logitsOfA = stepLogits(*a, std::span(ids).subspan(i, 1));
    logitsOfB = stepLogits(*b, std::span(other).subspan(i, 1));
  }
  EXPECT_EQ(differenceInBits(logitsOfA, fresh(std::span(ids).first(80))), "");
  EXPECT_EQ(differenceInBits(logitsOfB, fresh(other)), "");
}

TEST_P(ConversationTest, ACancelledPromptLeavesWhatWasDone) {
  const auto chunked = openSession(compile(), {.ladders = {{16}, {}}});
  uint32_t calls = 0;
  const Status status = chunked->prefill(ids, [&](uint32_t, uint32_t) { return ++calls < 4; }).status();
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_EQ(chunked->position(), 48U);
  EXPECT_EQ(differenceInBits(lastLogits(*chunked, std::span(ids).subspan(48)), fresh(ids)), "");
}

INSTANTIATE_TEST_SUITE_P(Models, ConversationTest, testing::Values("gguf/llama.gguf", "quant/q4_1.gguf"),
                         [](const auto& info) { return info.index == 0 ? "f32" : "q4_1"; });

}  // namespace
}  // namespace firn::e2e
