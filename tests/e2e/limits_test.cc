// What a session may be asked: lengths, ids, rows; and how many tokens an answer can have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "genai/pipeline.h"
#include "tests/e2e/compiled_model.h"
#include "tools/engine_adapter.h"

namespace firn::e2e {
namespace {

using testing::HasSubstr;

constexpr const char* kModel = "gguf/llama.gguf";
constexpr uint32_t kVocab = 512;

/// Prompts of up to 256 tokens and 64 more: T = 320.
compiler::CompileOptions compile320(const std::string& target) {
  compiler::CompileOptions options = smallCompile(kModel, target);
  options.maxPromptTokens = 256;
  options.minResponseTokens = 64;
  options.prefillChunks = {};
  options.contexts = {};
  return options;
}

class LimitsTest : public testing::TestWithParam<std::string> {
 protected:
  SessionPtr session = openSession(compile320(GetParam()));

  genai::GenerateResult generate(uint32_t promptTokens, uint64_t maxTokens) {
    tools::SessionEngine engine(*session);
    const genai::GenerateOptions options{.maxTokens = maxTokens, .ignoreEos = true};
    return need(genai::generate(engine, nullptr, someIds(promptTokens, kVocab), options));
  }
};

TEST_P(LimitsTest, AnswersFillTheCacheExactly) {
  const std::pair<uint32_t, size_t> cases[] = {{6, 315}, {256, 65}, {1, 320}, {255, 66}};
  for (const auto& [prompt, tokens] : cases) {
    const genai::GenerateResult result = generate(prompt, 1000);
    EXPECT_EQ(result.tokens.size(), tokens) << "prompt of " << prompt;
    EXPECT_EQ(result.finishReason, genai::FinishReason::kLength);
    EXPECT_EQ(result.promptTokens, prompt);
  }
}

TEST_P(LimitsTest, MaxTokensEndsEarlier) {
  const genai::GenerateResult all = generate(6, 1000);
  const genai::GenerateResult some = generate(6, 10);
  EXPECT_EQ(some.tokens, std::vector<int32_t>(all.tokens.begin(), all.tokens.begin() + 10));
  EXPECT_EQ(some.finishReason, genai::FinishReason::kLength);
  EXPECT_TRUE(generate(256, 0).tokens.empty());
}

TEST_P(LimitsTest, TheLongestPromptRunsAndOneMoreIsRefused) {
  EXPECT_TRUE(session->prefill(someIds(256, kVocab)).isOk());
  need(session->rewind(0));
  const Status tooLong = session->prefill(someIds(257, kVocab)).status();
  EXPECT_EQ(tooLong.code(), Code::kOutOfRange);
  EXPECT_THAT(tooLong.message(), HasSubstr("257"));
  EXPECT_THAT(tooLong.message(), HasSubstr("256"));
  EXPECT_EQ(session->position(), 0U);
}

TEST_P(LimitsTest, APromptInPiecesHasTheSameLimit) {
  need(session->prefill(someIds(200, kVocab)));
  const Status tooLong = session->prefill(someIds(57, kVocab)).status();
  EXPECT_EQ(tooLong.code(), Code::kOutOfRange);
  EXPECT_THAT(tooLong.message(), HasSubstr("257"));
  EXPECT_EQ(session->position(), 200U);
  EXPECT_TRUE(session->prefill(someIds(56, kVocab)).isOk());
}

TEST_P(LimitsTest, AFullCacheSaysSoAndStays) {
  need(session->prefill(someIds(256, kVocab)));
  const std::vector<int32_t> ids = someIds(64, kVocab, 2);
  const std::vector<float> logits = stepLogits(*session, ids);
  EXPECT_EQ(session->position(), 320U);
  const Status full = session->decode(1).status();
  EXPECT_EQ(full.code(), Code::kResourceExhausted);
  EXPECT_THAT(full.message(), HasSubstr("320"));
  EXPECT_EQ(session->position(), 320U);
  need(session->rewind(319));
  EXPECT_EQ(differenceInBits(stepLogits(*session, {&ids.back(), 1}), std::span(logits).last(kVocab)), "");
}

TEST_P(LimitsTest, IdsOutsideTheVocabularyAreRefusedBeforeAnyWork) {
  const std::vector<float> expected = lastLogits(*session, someIds(20, kVocab));
  need(session->rewind(0));
  for (const int32_t bad : {-1, static_cast<int32_t>(kVocab), INT32_MAX, INT32_MIN}) {
    std::vector<int32_t> ids = someIds(100, kVocab);
    ids[99] = bad;
    const Status status = session->prefill(ids).status();
    EXPECT_EQ(status.code(), Code::kOutOfRange);
    EXPECT_THAT(status.message(), HasSubstr(std::to_string(bad)));
    EXPECT_THAT(status.message(), HasSubstr("511"));
    EXPECT_EQ(session->decode(bad).status().code(), Code::kOutOfRange);
    EXPECT_EQ(session->position(), 0U);
  }
  EXPECT_EQ(session->prefill({}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(differenceInBits(lastLogits(*session, someIds(20, kVocab)), expected), "");
}

INSTANTIATE_TEST_SUITE_P(Targets, LimitsTest, testing::Values("cpu", "npu", "reference"),
                         [](const auto& info) { return info.param; });

TEST(LimitsOfThreadsTest, MoreThreadsThanLanesAreRefusedWithBothNumbers) {
  const Status status = engine::Model::open(blobOf(smallCompile(kModel, "cpu", 2)), {.threads = 5}).status();
  ASSERT_FALSE(status.isOk());
  EXPECT_THAT(status.message(), HasSubstr("5"));
  EXPECT_THAT(status.message(), HasSubstr("2"));
}

}  // namespace
}  // namespace firn::e2e
