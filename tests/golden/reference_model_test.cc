// Imported tiny models through the reference kernels, against logits recorded with Hugging Face transformers in fp32.
#include "tests/golden/reference_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "compiler/import/import.h"
#include "tests/golden/safetensors.h"

namespace firn::golden {
namespace {

/// Largest difference allowed in a logit: both sides are fp32 with sums in different orders.
constexpr float kTolerance = 2e-4F;

struct Case {
  std::string name;      ///< for the test's name
  std::string model;     ///< GGUF under tests/data
  std::string expected;  ///< safetensors under tests/data/expected
  std::string logits = "logits";

  friend std::ostream& operator<<(std::ostream& out, const Case& testCase) { return out << testCase.model; }
};

std::vector<int32_t> narrow(const std::vector<int64_t>& ids) { return {ids.begin(), ids.end()}; }

float largestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float difference = std::fabs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;  // NaN stays
    if (std::isnan(difference)) break;
  }
  return largest;
}

class ReferenceModelTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    Result<import::ModelSpec> imported = import::importModel("tests/data/" + GetParam().model);
    ASSERT_TRUE(imported.isOk()) << imported.status().toString();
    spec = *std::move(imported);
    Result<Safetensors> file = Safetensors::open("tests/data/expected/" + GetParam().expected);
    ASSERT_TRUE(file.isOk()) << file.status().toString();
    const Result<std::vector<int64_t>> recordedIds = file->integers("ids");
    const Result<std::vector<float>> logits = file->floats(GetParam().logits);
    ASSERT_TRUE(recordedIds.isOk() && logits.isOk());
    ids = narrow(*recordedIds);
    recordedLogits = *logits;
    ASSERT_EQ(recordedLogits.size(), ids.size() * spec.vocab);
    if (!file->has("greedy")) return;
    const Result<std::vector<int64_t>> recordedGreedy = file->integers("greedy");
    const Result<std::vector<float>> recordedMargins = file->floats("greedy_margin");
    ASSERT_TRUE(recordedGreedy.isOk() && recordedMargins.isOk());
    greedy = narrow(*recordedGreedy);
    margins = *recordedMargins;
  }

  std::vector<float> runInChunks(uint64_t chunk) const {
    ReferenceModel model(spec, ids.size());
    std::vector<float> logits;
    for (uint64_t first = 0; first < ids.size(); first += chunk) {
      const uint64_t count = std::min(chunk, ids.size() - first);
      const std::vector<float> part = model.run(std::span(ids).subspan(first, count));
      logits.insert(logits.end(), part.begin(), part.end());
    }
    return logits;
  }

  import::ModelSpec spec;
  std::vector<int32_t> ids;
  std::vector<float> recordedLogits;
  std::vector<int32_t> greedy;
  std::vector<float> margins;
};

TEST_P(ReferenceModelTest, LogitsOfEveryPosition) {
  const std::vector<float> logits = runInChunks(ids.size());
  ASSERT_EQ(logits.size(), recordedLogits.size());
  const float difference = largestDifference(logits, recordedLogits);
  RecordProperty("largest_difference", std::to_string(difference));
  EXPECT_LE(difference, kTolerance);
}

TEST_P(ReferenceModelTest, ChunksChangeNoBit) {
  const std::vector<float> whole = runInChunks(ids.size());
  EXPECT_EQ(runInChunks(1), whole);
  EXPECT_EQ(runInChunks(17), whole);
}

class GreedyTest : public ReferenceModelTest {};

TEST_P(GreedyTest, Tokens) {
  ASSERT_FALSE(greedy.empty());
  ReferenceModel model(spec, ids.size() + greedy.size());
  std::vector<int32_t> next = ids;
  for (size_t step = 0; step < greedy.size(); ++step) {
    const std::vector<float> logits = model.run(next);
    const auto last = logits.end() - static_cast<int64_t>(spec.vocab);
    const auto token = static_cast<int32_t>(std::max_element(last, logits.end()) - last);
    // Within twice the tolerance the two best may change places.
    if (margins[step] > 2 * kTolerance) ASSERT_EQ(token, greedy[step]) << "step " << step;
    next = {greedy[step]};
  }
}

std::string caseName(const testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Quantized, ReferenceModelTest,
                         testing::Values(Case{"q8_0", "quant/q8_0.gguf", "quant.safetensors", "q8_0"},
                                         Case{"q4_0", "quant/q4_0.gguf", "quant.safetensors", "q4_0"},
                                         Case{"q4_1", "quant/q4_1.gguf", "quant.safetensors", "q4_1"},
                                         Case{"q5_0", "quant/q5_0.gguf", "quant.safetensors", "q5_0"},
                                         Case{"q5_1", "quant/q5_1.gguf", "quant.safetensors", "q5_1"},
                                         Case{"q4_k", "quant/q4_k.gguf", "quant.safetensors", "q4_k"},
                                         Case{"q5_k", "quant/q5_k.gguf", "quant.safetensors", "q5_k"},
                                         Case{"q6_k", "quant/q6_k.gguf", "quant.safetensors", "q6_k"}),
                         caseName);

const auto kUnquantized = testing::Values(
    Case{"llama", "gguf/llama.gguf", "llama.safetensors"},
    Case{"llama3_rope", "gguf/llama3-rope.gguf", "llama3-rope.safetensors"},
    Case{"linear_rope_bias", "gguf/llama-bias-linear-rope.gguf", "llama-bias-linear-rope.safetensors"},
    Case{"tied_bf16", "gguf/llama-tied-bf16.gguf", "llama-tied-bf16.safetensors"},
    Case{"yarn", "gguf/llama-yarn.gguf", "llama-yarn.safetensors"},
    Case{"mistral_window", "gguf/mistral-window.gguf", "mistral-window.safetensors"},
    Case{"gemma3", "gguf/gemma3.gguf", "gemma3.safetensors"}, Case{"qwen2", "gguf/qwen2.gguf", "qwen2.safetensors"});

INSTANTIATE_TEST_SUITE_P(Models, ReferenceModelTest, kUnquantized, caseName);
INSTANTIATE_TEST_SUITE_P(Models, GreedyTest, kUnquantized, caseName);

}  // namespace
}  // namespace firn::golden
