// Truncations and context shifts of real architectures, with sliding windows, two ropes and odd heads, against a plain
// fp32 model that replays the same operations: each row computed with the rows that were visible then.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "base/dtype.h"
#include "compiler/import/import.h"
#include "tests/e2e/compiled_model.h"
#include "tests/golden/reference_model.h"

namespace firn::e2e {
namespace {

constexpr uint32_t kVocab = 512;
constexpr uint32_t kKeepRows = 4;

struct ReplayCase {
  const char* name;
  const char* model;
  const char* target;
};

/// What an f16 cache does to keys and values.
class F16Cache : public golden::Rounding {
 public:
  void cacheRows(std::span<float> values) override {
    for (float& value : values) value = f16ToF32(f32ToF16(value));
  }
};

float largestDifference(std::span<const float> a, std::span<const float> b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

class ShiftReplayTest : public testing::TestWithParam<ReplayCase> {
 protected:
  void SetUp() override {
    const auto compile = smallCompile(GetParam().model, GetParam().target);
    spec = need(import::importModel(compile.modelPath));
    session = need(engine::Session::create(need(engine::Model::open(blobOf(compile), {.device = GetParam().target})),
                                           {.contextShift = true, .keepRows = kKeepRows}));
    rows = session->model().limits().kvRows;
    isF16 = session->model().blob().header().kvType == DType::kF16;
    exact.emplace(spec, rows);
    rounded.emplace(spec, rows, &rounding);
  }

  /// The bound is what rounding may do: fp32 everywhere within 2^-11 of the largest logit (sums of up to 320 terms in
  /// seven products of each of up to seven layers, and angles up to 256 rounded to fp32); with an f16 cache four times
  /// what rounding that cache does to the plain model itself, beside it.
  void expectNear(std::span<const float> logits, std::span<const int32_t> ids, const std::string& where) {
    const std::vector<float> whole = exact->run(ids);
    const auto expected = std::span(whole).last(kVocab);
    float bound = 0x1p-11F * std::fabs(*std::ranges::max_element(expected, {}, [](float x) { return std::fabs(x); }));
    if (!isF16) {
      ASSERT_LE(largestDifference(logits, expected), bound) << where;
      return;
    }
    const std::vector<float> wholeRounded = rounded->run(ids);
    const auto withNoise = std::span(wholeRounded).last(kVocab);
    noise = std::max(noise, largestDifference(withNoise, expected));
    bound += 4 * noise;
    ASSERT_LE(largestDifference(logits, withNoise), bound) << where;
  }
  void truncatePlain(uint32_t first, uint32_t last) {
    exact->truncate(first, last);
    if (isF16) rounded->truncate(first, last);
  }

  import::ModelSpec spec;
  SessionPtr session;
  F16Cache rounding;
  std::optional<golden::ReferenceModel> exact;
  std::optional<golden::ReferenceModel> rounded;
  uint32_t rows = 0;
  bool isF16 = false;
  float noise = 0;
};

TEST_P(ShiftReplayTest, IsWhatThePlainModelReplays) {
  std::mt19937 random(11);
  const std::vector<int32_t> prompt = someIds(90, kVocab);
  expectNear(need(session->prefill(prompt)), prompt, "prompt");
  uint32_t shifts = 0;
  for (uint32_t step = 0; step < 420 && !HasFatalFailure(); ++step) {
    const uint32_t position = session->position();
    if (position == rows) {
      truncatePlain(kKeepRows, kKeepRows + rows / 4);
      ++shifts;
    } else if (position > 90 && random() % 60 == 0) {
      // Sometimes longer than the windows, sometimes from the first token on.
      const auto first = static_cast<uint32_t>(random() % 3 == 0 ? 0 : random() % (position - 50));
      const uint32_t last = first + 1 + static_cast<uint32_t>(random() % 40);
      need(session->truncate(first, last));
      truncatePlain(first, last);
    }
    const auto id = static_cast<int32_t>(random() % kVocab);
    expectNear(need(session->decode(id)), std::span(&id, 1), "step " + std::to_string(step));
  }
  EXPECT_GE(shifts, 2U);
}

INSTANTIATE_TEST_SUITE_P(Models, ShiftReplayTest,
                         testing::Values(ReplayCase{"gemma3_reference", "gguf/gemma3.gguf", "reference"},
                                         ReplayCase{"gemma3_cpu", "gguf/gemma3.gguf", "cpu"},
                                         ReplayCase{"window_reference", "gguf/mistral-window.gguf", "reference"},
                                         ReplayCase{"window_cpu", "gguf/mistral-window.gguf", "cpu"},
                                         ReplayCase{"yarn_cpu", "gguf/llama-yarn.gguf", "cpu"},
                                         ReplayCase{"qwen2_cpu", "gguf/qwen2.gguf", "cpu"}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace firn::e2e
