// SmolLM2 on cpu: one prompt, one answer, whatever runs it, and exactly as many tokens as there is room for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "genai/pipeline.h"
#include "tests/e2e/poison.h"
#include "tests/e2e/smollm2.h"
#include "tools/engine_adapter.h"

namespace firn::e2e {
namespace {

using testing::HasSubstr;

constexpr uint32_t kVocab = 49152;
constexpr uint32_t kLengths[] = {1, 15, 16, 17, 255, 256, 257, 1023, 1024};

class Smollm2BitsTest : public Smollm2Test {
 protected:
  const std::vector<int32_t> ids = someIds(1024, kVocab);
};

TEST_F(Smollm2BitsTest, LaddersThreadsAndSteps) {
  std::map<uint32_t, std::vector<float>> expected;
  const auto stepping = openSession(compile());
  for (uint32_t done = 0; const uint32_t length : kLengths) {
    for (; done < length; ++done) expected[length] = stepLogits(*stepping, std::span(ids).subspan(done, 1));
  }
  const std::vector<engine::ModelOptions> choices = {
      {},
      {.threads = 1},
      {.ladders = {{16}, {}}},
      {.ladders = {{64}, {1152}}},
      {.ladders = {{256}, {256, 1152}}},
      {.ladders = {{1024}, {}}},
      {.threads = 1, .ladders = {{16, 256}, {512, 1152}}},
  };
  for (size_t i = 0; i < choices.size(); ++i) {
    const auto session = openSession(compile(), choices[i]);
    for (const uint32_t length : kLengths) {
      need(session->rewind(0));
      EXPECT_EQ(differenceInBits(lastLogits(*session, std::span(ids).first(length)), expected[length]), "")
          << length << " tokens, choice " << i;
    }
  }
}

TEST_F(Smollm2BitsTest, EveryPositionOfAPrompt) {
  const auto session = openSession(compile());
  const std::vector<float> steps = stepLogits(*session, std::span(ids).first(300));
  need(session->rewind(0));
  EXPECT_EQ(differenceInBits(chunkLogits(*session, std::span(ids).first(300)), steps), "");
}

TEST_F(Smollm2BitsTest, PoisonInFreeRows) {
  const auto answer = [&](const Poison* poison) {
    const auto session = openSession(compile(), {.ladders = {{64}, {}}});
    const auto prepare = [&] {
      if (poison != nullptr) poisonFreeRows(*session, *poison);
      return true;
    };
    need(session->prefill(std::span(ids).first(250), [&](uint32_t, uint32_t) { return prepare(); }));
    std::vector<float> all;
    for (uint32_t i = 250; i < 262; ++i) {  // crosses from context 256 to 512
      prepare();
      const std::vector<float> logits = stepLogits(*session, std::span(ids).subspan(i, 1));
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  };
  const std::vector<float> expected = answer(nullptr);
  for (const Poison& poison : kPoisons) EXPECT_EQ(differenceInBits(answer(&poison), expected), "") << poison.name;
}

TEST_F(Smollm2BitsTest, LengthsHaveTheirLimits) {
  const auto session = openSession(compile());
  const Status tooLong = session->prefill(someIds(1025, kVocab)).status();
  EXPECT_EQ(tooLong.code(), Code::kOutOfRange);
  EXPECT_THAT(tooLong.message(), testing::AllOf(HasSubstr("1025"), HasSubstr("1024")));
  tools::SessionEngine engine(*session);
  for (const uint32_t prompt : {1000U, 1024U}) {
    const auto result = need(genai::generate(engine, nullptr, std::span(ids).first(prompt), {.ignoreEos = true}));
    EXPECT_EQ(result.tokens.size(), 1152 - prompt + 1);
    EXPECT_EQ(result.finishReason, genai::FinishReason::kLength);
  }
}

}  // namespace
}  // namespace firn::e2e
