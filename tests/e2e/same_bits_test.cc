// One prompt, one answer: however a prompt is cut, whichever contexts, threads and instructions run it, the logits of
// every position are the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "tests/e2e/compiled_model.h"
#include "tests/golden/recorded.h"

namespace firn::e2e {
namespace {

constexpr uint32_t kVocab = 512;
constexpr uint32_t kPrompt = 128;

class SameBitsTest : public testing::TestWithParam<golden::RecordedModel> {
 protected:
  compiler::CompileOptions compile(uint32_t lanes = 2) const { return smallCompile(GetParam().model, "cpu", lanes); }

  /// The logits of every position, one token at a time; the answer that all others must equal.
  std::vector<float> steps(uint32_t count = kPrompt) const {
    return stepLogits(*openSession(compile()), std::span(ids).first(count));
  }

  const std::vector<int32_t> ids = someIds(2 * kPrompt, kVocab);
};

std::span<const float> row(const std::vector<float>& logits, uint32_t position) {
  return std::span(logits).subspan(size_t{position} * kVocab, kVocab);
}

TEST_P(SameBitsTest, ChunkAndContextLadders) {
  const std::vector<float> expected = steps();
  const std::vector<std::vector<uint32_t>> chunkLadders = {{}, {16}, {64}, {128}, {16, 64}, {16, 128}, {64, 128}};
  const std::vector<std::vector<uint32_t>> contextLadders = {{}, {256}, {64}, {128, 256}, {64, 192}};
  for (const auto& chunks : chunkLadders) {
    for (const auto& contexts : contextLadders) {
      const auto session = openSession(compile(), {.ladders = {chunks, contexts}});
      EXPECT_EQ(differenceInBits(chunkLogits(*session, std::span(ids).first(kPrompt)), expected), "")
          << "chunks " << testing::PrintToString(chunks) << " contexts " << testing::PrintToString(contexts);
    }
  }
}

TEST_P(SameBitsTest, PromptLengthsAroundEveryBoundary) {
  const std::vector<float> expected = steps();
  for (const std::vector<uint32_t>& chunks : {std::vector<uint32_t>{}, {16}, {64}, {128}}) {
    const auto session = openSession(compile(), {.ladders = {chunks, {}}});
    for (const uint32_t length : {1U, 2U, 15U, 16U, 17U, 31U, 32U, 33U, 63U, 64U, 65U, 79U, 80U, 81U, 127U, 128U}) {
      need(session->rewind(0));
      EXPECT_EQ(differenceInBits(lastLogits(*session, std::span(ids).first(length)), row(expected, length - 1)), "")
          << length << " tokens, chunks " << testing::PrintToString(chunks);
    }
  }
}

TEST_P(SameBitsTest, PromptsInPieces) {
  const std::vector<float> expected = steps();
  const auto session = openSession(compile());
  for (const uint32_t cut : {1U, 15U, 16U, 50U, 64U, 100U, 127U}) {
    need(session->rewind(0));
    std::vector<float> logits = chunkLogits(*session, std::span(ids).first(cut));
    const std::vector<float> rest = chunkLogits(*session, std::span(ids).subspan(cut, kPrompt - cut));
    logits.insert(logits.end(), rest.begin(), rest.end());
    EXPECT_EQ(differenceInBits(logits, expected), "") << "cut at " << cut;
  }
}

TEST_P(SameBitsTest, DecodeAfterAnyPrompt) {
  const auto all = static_cast<uint32_t>(ids.size());
  const std::vector<float> expected = steps(all);  // up to the last row, through all contexts
  for (const uint32_t prompt : {1U, 63U, 64U, 100U, 128U}) {
    const auto session = openSession(compile());
    need(session->prefill(std::span(ids).first(prompt)));
    EXPECT_EQ(differenceInBits(stepLogits(*session, std::span(ids).subspan(prompt)),
                               std::span(expected).subspan(size_t{prompt} * kVocab)),
              "")
        << "prompt of " << prompt;
  }
}

TEST_P(SameBitsTest, ThreadsUpToTheLanes) {
  for (const uint32_t lanes : {1U, 2U, 3U}) {
    std::optional<std::vector<float>> expected;
    for (uint32_t threads = 1; threads <= lanes; ++threads) {
      const auto session = openSession(compile(lanes), {.threads = threads});
      std::vector<float> logits = chunkLogits(*session, std::span(ids).first(100));
      const std::vector<float> answer = stepLogits(*session, std::span(ids).subspan(100, 40));
      logits.insert(logits.end(), answer.begin(), answer.end());
      if (!expected) expected = logits;
      EXPECT_EQ(differenceInBits(logits, *expected), "") << threads << " threads, " << lanes << " lanes";
    }
    EXPECT_FALSE(engine::Model::open(blobOf(compile(lanes)), {.threads = lanes + 1}).isOk());
  }
}

TEST_P(SameBitsTest, InstructionSets) {
  const std::vector<float> expected = steps();
  uint32_t tried = 0;
  for (const char* set : {"portable", "avx2", "avx512"}) {
    const engine::ModelOptions options{.deviceOptions = {.instructionSet = set}};
    const auto model = engine::Model::open(blobOf(compile()), options);
    if (!model.isOk()) {
      EXPECT_EQ(model.status().code(), Code::kUnsupported) << model.status().toString();
      continue;
    }
    EXPECT_EQ((*model)->device().query().instructionSet, set);
    const auto session = need(engine::Session::create(*model));
    EXPECT_EQ(differenceInBits(chunkLogits(*session, std::span(ids).first(kPrompt)), expected), "") << set;
    need(session->rewind(0));
    EXPECT_EQ(differenceInBits(stepLogits(*session, std::span(ids).first(kPrompt)), expected), "") << set << ", steps";
    ++tried;
  }
  EXPECT_GE(tried, 1U);
}

std::string nameOf(const testing::TestParamInfo<golden::RecordedModel>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Models, SameBitsTest, testing::ValuesIn(golden::allModels()), nameOf);

}  // namespace
}  // namespace firn::e2e
