#include "genai/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "genai/engine_fake.h"
#include "genai/tokenizer/test_vocabulary.h"

namespace firn::genai {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr EngineLimits kLimits{.maxPromptTokens = 256, .kvRows = 320, .vocab = 512};
constexpr int32_t kEnd = 511;

/// Says `script`, then the end token for ever.
EngineFake scripted(std::vector<int32_t> script, size_t promptTokens) {
  return EngineFake(kLimits, [script, promptTokens](std::span<const int32_t> tokens) {
    const size_t step = tokens.size() - promptTokens;
    return step < script.size() ? script[step] : kEnd;
  });
}

std::vector<int32_t> prompt(size_t n) { return std::vector<int32_t>(n, 5); }

class PipelineTest : public ::testing::Test {
 protected:
  TestVocabulary vocabulary;
  Tokenizer tokenizer = vocabulary.tokenizer("smollm");
};

TEST_F(PipelineTest, stopsAtTheEndToken) {
  std::vector<int32_t> script = *tokenizer.encode("hello 日本");
  EngineFake engine = scripted(script, 3);
  std::string streamed;
  std::vector<int32_t> tokens;
  GenerateCallbacks callbacks;
  callbacks.onText = [&](std::string_view piece) {
    EXPECT_FALSE(piece.empty());
    streamed += piece;
    return true;
  };
  callbacks.onToken = [&](int32_t id) {
    tokens.push_back(id);
    return true;
  };
  auto result = generate(engine, &tokenizer, prompt(3), {}, callbacks);
  ASSERT_TRUE(result.isOk()) << result.status().toString();
  EXPECT_EQ(result->text, "hello 日本");
  EXPECT_EQ(streamed, result->text);
  script.push_back(kEnd);
  EXPECT_EQ(result->tokens, script);
  EXPECT_EQ(tokens, script);
  EXPECT_EQ(result->promptTokens, 3U);
  EXPECT_EQ(result->finishReason, FinishReason::kStop);
  EXPECT_EQ(finishReasonName(result->finishReason), "stop");
  EXPECT_GT(result->ttftMs, 0);
  EXPECT_GT(result->decodeTokensPerS, 0);
  // The end token itself was never run.
  EXPECT_EQ(engine.tokens().size(), 3 + script.size() - 1);
}

/// Names another token than its logits do.
class InsistingEngine : public EngineFake {
 public:
  using EngineFake::EngineFake;
  int32_t bestToken() const override { return 7; }
};

TEST_F(PipelineTest, theBestTokenIsTheOneThatTheEngineNames) {
  InsistingEngine engine(kLimits, [](std::span<const int32_t>) { return 3; });
  const auto result = generate(engine, nullptr, prompt(2), {.maxTokens = 2}, {});
  ASSERT_TRUE(result.isOk()) << result.status().toString();
  EXPECT_THAT(result->tokens, ElementsAre(7, 7));
}

TEST_F(PipelineTest, endTokenFirstGivesEmptyText) {
  EngineFake engine = scripted({}, 2);
  auto result = generate(engine, &tokenizer, prompt(2));
  ASSERT_TRUE(result.isOk());
  EXPECT_EQ(result->text, "");
  EXPECT_THAT(result->tokens, ElementsAre(kEnd));
  EXPECT_EQ(result->finishReason, FinishReason::kStop);
  EXPECT_EQ(result->decodeTokensPerS, 0);
}

TEST_F(PipelineTest, maxTokensAreExact) {
  for (const uint64_t most : {0U, 1U, 2U, 3U}) {
    EngineFake engine = scripted({7, 8, 9, 10, 11}, 4);
    auto result = generate(engine, &tokenizer, prompt(4), {.maxTokens = most});
    ASSERT_TRUE(result.isOk());
    EXPECT_EQ(result->tokens.size(), most);
    EXPECT_EQ(result->finishReason, FinishReason::kLength);
    EXPECT_EQ(finishReasonName(result->finishReason), "length");
    EXPECT_EQ(result->promptTokens, 4U);
  }
}

TEST_F(PipelineTest, capacityIsRowsMinusPromptPlusOne) {
  const std::pair<size_t, size_t> cases[] = {{6, 315}, {256, 65}, {1, 320}};
  for (const auto& [n, expected] : cases) {
    EngineFake engine = scripted({}, n);
    auto result = generate(engine, &tokenizer, prompt(n), {.maxTokens = 1000, .ignoreEos = true});
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    EXPECT_EQ(result->tokens.size(), expected);
    EXPECT_EQ(result->finishReason, FinishReason::kLength);
    EXPECT_EQ(engine.position(), kLimits.kvRows);
  }
}

TEST_F(PipelineTest, worksWithoutATokenizer) {
  EngineFake engine = scripted({7, 8, 9}, 1);
  GenerateCallbacks callbacks;
  callbacks.onText = [](std::string_view) {
    ADD_FAILURE();
    return true;
  };
  auto result = generate(engine, nullptr, prompt(1), {.endIds = {9}}, callbacks);
  ASSERT_TRUE(result.isOk());
  EXPECT_THAT(result->tokens, ElementsAre(7, 8, 9));
  EXPECT_EQ(result->finishReason, FinishReason::kStop);
  EXPECT_EQ(result->text, "");
}

TEST_F(PipelineTest, aHeadWiderThanTheVocabularyHasNoTextThere) {
  EngineLimits wide = kLimits;
  wide.vocab = 600;
  EngineFake engine(wide, [](std::span<const int32_t>) { return 599; });
  auto result = generate(engine, &tokenizer, prompt(1), {.maxTokens = 2});
  ASSERT_TRUE(result.isOk()) << result.status().toString();
  EXPECT_THAT(result->tokens, ElementsAre(599, 599));
  EXPECT_EQ(result->text, "");
}

TEST_F(PipelineTest, anUnfinishedCharacterIsDropped) {
  std::vector<int32_t> script = *tokenizer.encode("é😸");
  script.pop_back();
  EngineFake engine = scripted(script, 1);
  auto result = generate(engine, &tokenizer, prompt(1));
  ASSERT_TRUE(result.isOk());
  EXPECT_EQ(result->text, "é");
}

TEST_F(PipelineTest, refusesBeforeAnyWork) {
  EngineFake engine = scripted({}, 1);
  const auto message = [&](size_t n, const GenerateOptions& options) {
    const auto result = generate(engine, &tokenizer, prompt(n), options);
    EXPECT_FALSE(result.isOk());
    return result.status().message();
  };
  EXPECT_EQ(message(0, {}), "the prompt has no tokens: give at least one");
  EXPECT_THAT(message(257, {}), HasSubstr("257"));
  EXPECT_THAT(message(400, {}), HasSubstr("400"));
  EXPECT_THAT(message(1, {.sampler = {.temperature = -1}}), HasSubstr("temperature"));
  EXPECT_THAT(message(1, {.endIds = {512}}), HasSubstr("512"));
  EXPECT_THAT(message(1, {.endIds = {-1}}), HasSubstr("-1"));
  EXPECT_THAT(engine.tokens(), IsEmpty());
  // It still answers.
  EXPECT_TRUE(generate(engine, &tokenizer, prompt(1)).isOk());
}

TEST_F(PipelineTest, logitsThatAreNoNumbersAreNamedWithTheirPlace) {
  EngineFake engine(kLimits, [](std::span<const int32_t> tokens) { return tokens.size() < 3 ? 7 : EngineFake::kNan; });
  for (const float temperature : {0.0F, 1e-3F}) {
    const auto result = generate(engine, &tokenizer, prompt(1), {.sampler = {.temperature = temperature}});
    EXPECT_EQ(result.status().code(), Code::kCorrupt);
    EXPECT_THAT(result.status().message(), HasSubstr("token 3 of the answer: 512 of 512 logits are NaN"));
  }
}

TEST_F(PipelineTest, anEndlessEngineIsAskedForAllThatIsWanted) {
  for (const bool isEndless : {false, true}) {
    EngineLimits limits = kLimits;
    limits.isEndless = isEndless;
    EngineFake engine(limits, [](std::span<const int32_t>) { return 7; });
    const auto result = generate(engine, &tokenizer, prompt(256), {.maxTokens = 1000});
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    EXPECT_EQ(result->tokens.size(), isEndless ? 1000U : limits.kvRows - 256 + 1);
    EXPECT_EQ(result->finishReason, FinishReason::kLength);
    EXPECT_LE(engine.position(), limits.kvRows);
  }
}

TEST_F(PipelineTest, cachedTokensAreThoseOfTheCommonPrefix) {
  EngineFake engine = scripted({7, 8}, 3);
  const auto cached = [&](std::vector<int32_t> ids) {
    const auto result = generate(engine, &tokenizer, ids, {.maxTokens = 1});
    EXPECT_TRUE(result.isOk()) << result.status().toString();
    return result ? result->cachedTokens : UINT64_MAX;
  };
  EXPECT_EQ(cached({1, 2, 3}), 0U) << "a new engine has none";
  EXPECT_EQ(cached({1, 2, 3}), 2U) << "the last is always computed";
  EXPECT_EQ(cached({1, 2, 3, 4}), 3U);
  EXPECT_EQ(cached({1, 9, 3, 4}), 1U);
  EXPECT_EQ(cached({5}), 0U);
}

/// Gives up in the middle of every prompt, as an engine does that is told to; `why` is set before.
class EngineThatStops : public EngineFake {
 public:
  explicit EngineThatStops(std::atomic<bool>* why)
      : EngineFake(kLimits, [](std::span<const int32_t>) { return 7; }), why_(why) {}
  Result<std::span<const float>> prefill(std::span<const int32_t> /*ids*/) override {
    if (why_ != nullptr) why_->store(true);
    return cancelled("in the middle of the prompt");
  }

 private:
  std::atomic<bool>* why_;
};

TEST_F(PipelineTest, aPromptThatIsCancelledHasNoAnswer) {
  std::atomic<bool> cancel = false;
  EngineThatStops engine(&cancel);
  const auto result = generate(engine, &tokenizer, prompt(5), {.cancel = &cancel});
  ASSERT_TRUE(result.isOk()) << result.status().toString();
  EXPECT_EQ(result->finishReason, FinishReason::kInterrupted);
  EXPECT_EQ(result->promptTokens, 5U);
  EXPECT_THAT(result->tokens, IsEmpty());
  // An engine that stops for reasons of its own fails.
  cancel = false;
  EngineThatStops other(nullptr);
  EXPECT_EQ(generate(other, &tokenizer, prompt(5), {.cancel = &cancel}).status().code(), Code::kCancelled);
}

TEST_F(PipelineTest, cancelStopsBetweenSteps) {
  EngineFake engine = scripted({7, 8, 9}, 1);
  std::atomic<bool> cancel = true;
  GenerateOptions options{.cancel = &cancel};
  auto stopped = generate(engine, &tokenizer, prompt(1), options);
  ASSERT_TRUE(stopped.isOk()) << stopped.status().toString();
  EXPECT_EQ(stopped->finishReason, FinishReason::kInterrupted);
  EXPECT_EQ(finishReasonName(stopped->finishReason), "interrupted");
  EXPECT_THAT(engine.tokens(), IsEmpty());

  cancel = false;
  GenerateCallbacks callbacks;
  callbacks.onToken = [&](int32_t id) {
    cancel = id == 8;
    return true;
  };
  stopped = generate(engine, &tokenizer, prompt(1), options, callbacks);
  ASSERT_TRUE(stopped.isOk()) << stopped.status().toString();
  EXPECT_EQ(stopped->finishReason, FinishReason::kInterrupted);
  EXPECT_THAT(stopped->tokens, ElementsAre(7, 8));
  EXPECT_EQ(engine.position(), 2U);

  // A wish that comes with the last token comes too late.
  cancel = false;
  callbacks.onToken = [&](int32_t id) {
    cancel = id == 9;
    return true;
  };
  EXPECT_EQ(generate(engine, &tokenizer, prompt(1), {.maxTokens = 3, .cancel = &cancel}, callbacks)->finishReason,
            FinishReason::kLength);

  callbacks.onToken = [](int32_t) { return false; };
  EXPECT_EQ(generate(engine, &tokenizer, prompt(1), {}, callbacks).status().code(), Code::kCancelled);
  callbacks.onToken = nullptr;
  callbacks.onText = [](std::string_view) { return false; };
  EXPECT_EQ(generate(engine, &tokenizer, prompt(1), {}, callbacks).status().code(), Code::kCancelled);
}

TEST_F(PipelineTest, samplingDependsOnTheSeedOnly) {
  EngineLimits limits = kLimits;
  const auto run = [&](uint64_t seed) {
    EngineFake engine(limits, [](std::span<const int32_t>) { return 3; });
    return generate(engine, nullptr, prompt(2), {.maxTokens = 50, .sampler = {.temperature = 50, .seed = seed}})
        ->tokens;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

}  // namespace
}  // namespace firn::genai
