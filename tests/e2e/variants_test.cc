// A model compiled for other sizes gives the same answer: sizes are room, nothing else.
#include <gtest/gtest.h>

#include "tests/e2e/compiled_model.h"
#include "tests/golden/recorded.h"

namespace firn::e2e {
namespace {

constexpr uint32_t kVocab = 512;

class VariantsTest : public testing::TestWithParam<golden::RecordedModel> {
 protected:
  compiler::CompileOptions sized(uint32_t prompt, uint32_t response, std::vector<uint32_t> contexts) const {
    compiler::CompileOptions options = smallCompile(GetParam().model);
    options.maxPromptTokens = prompt;
    options.minResponseTokens = response;
    options.prefillChunks = {};
    options.contexts = std::move(contexts);
    return options;
  }

  /// The logits after the prompt and each of `steps` greedy tokens after it.
  static std::vector<float> answer(engine::Session& session, std::span<const int32_t> prompt, uint32_t steps) {
    std::vector<float> all = lastLogits(session, prompt);
    for (uint32_t i = 0; i < steps; ++i) {
      const int32_t next = likeliest(std::span(all).last(kVocab));
      const std::vector<float> logits = stepLogits(session, {&next, 1});
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  }
};

TEST_P(VariantsTest, CrossingContextsIsAsIfTheLargestHadRunAlone) {
  const compiler::CompileOptions compile = sized(2048, 2048, {1024, 2048, 4096});
  const auto small = openSession(compile);
  const auto largest = openSession(compile, {.ladders = {{}, {4096}}});
  // From 1000 over 1024; from exactly 1024; from 1020 over 1024 and, by a longer prompt, over 2048.
  const std::pair<uint32_t, uint32_t> cases[] = {{1000, 100}, {1024, 3}, {1023, 3}, {2040, 20}};
  for (const auto& [prompt, steps] : cases) {
    const std::vector<int32_t> ids = someIds(prompt, kVocab);
    need(small->rewind(0));
    need(largest->rewind(0));
    EXPECT_EQ(differenceInBits(answer(*small, ids, steps), answer(*largest, ids, steps)), "") << prompt << " tokens";
  }
}

TEST_P(VariantsTest, TwoCrossingsInOneAnswer) {
  const compiler::CompileOptions compile = sized(64, 192, {64, 128, 192, 256});
  const std::vector<int32_t> ids = someIds(60, kVocab);
  const auto small = openSession(compile);
  const auto largest = openSession(compile, {.ladders = {{}, {256}}});
  EXPECT_EQ(differenceInBits(answer(*small, ids, 190), answer(*largest, ids, 190)), "");
}

TEST_P(VariantsTest, RoomForMoreTokensChangesNothing) {
  const std::vector<int32_t> ids = someIds(20, kVocab);
  const auto session = openSession(sized(64, 64, {}));
  const std::vector<float> expected = answer(*session, ids, 40);
  for (const uint32_t prompt : {64U, 256U, 1024U}) {
    for (const uint32_t response : {64U, 128U, 1024U}) {
      const auto other = openSession(sized(prompt, response, {}));
      EXPECT_EQ(differenceInBits(answer(*other, ids, 40), expected), "") << prompt << " + " << response;
    }
  }
}

std::string nameOf(const testing::TestParamInfo<golden::RecordedModel>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Models, VariantsTest, testing::Values(golden::floatModels()[0], golden::quantizedModels()[1]),
                         nameOf);

}  // namespace
}  // namespace firn::e2e
