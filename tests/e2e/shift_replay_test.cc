// Truncations and context shifts of real architectures, with sliding windows, two ropes and odd heads, against a plain
// fp32 model that replays the same operations: each row computed with the rows that were visible then.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <random>

#include "base/dtype.h"
#include "base/row_i8.h"
#include "compiler/import/import.h"
#include "tests/e2e/compiled_model.h"
#include "tests/e2e/rounding_noise.h"
#include "tests/golden/reference_model.h"

namespace firn::e2e {
namespace {

constexpr uint32_t kVocab = 512;
constexpr uint32_t kKeepRows = 4;

struct ReplayCase {
  const char* name;
  const char* model;
  const char* target;
  DType kvType;
};

/// What a cache of f16 or i8 does to keys and values.
class CacheRounding : public golden::Rounding {
 public:
  explicit CacheRounding(DType kvType) : kvType_(kvType) {}

  void cacheRows(std::span<float> values, uint64_t headDim) override {
    if (kvType_ == DType::kF16) {
      for (float& value : values) value = f16ToF32(f32ToF16(value));
      return;
    }
    std::vector<int8_t> codes(headDim);
    for (size_t first = 0; first < values.size(); first += headDim) {
      const std::span<float> row = values.subspan(first, headDim);
      const float scale = quantizeRowI8(row, codes);
      std::ranges::transform(codes, row.begin(), [&](int8_t code) { return scale * static_cast<float>(code); });
    }
  }
  bool keysWithoutBias() const override { return kvType_ == DType::kI8; }

 private:
  DType kvType_;
};

float largestDifference(std::span<const float> a, std::span<const float> b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

class ShiftReplayTest : public testing::TestWithParam<ReplayCase> {
 protected:
  void SetUp() override {
    auto compile = smallCompile(GetParam().model, GetParam().target);
    compile.kvType = GetParam().kvType;
    spec = need(import::importModel(compile.modelPath));
    session = need(engine::Session::create(need(engine::Model::open(blobOf(compile), {.device = GetParam().target})),
                                           {.contextShift = true, .keepRows = kKeepRows}));
    rows = session->model().limits().kvRows;
    exact.emplace(spec, rows);
    if (GetParam().kvType == DType::kF32) return;
    evenSpec = GetParam().kvType == DType::kI8 ? withEvenNorms(spec, norms) : spec;
    rounded.emplace(evenSpec, rows, &rounding);
  }

  /// The bound is what rounding may do: fp32 everywhere within 2^-11 of the largest logit (sums of up to 320 terms in
  /// seven products of each of up to seven layers, and angles up to 256 rounded to fp32); with a cache of f16 or i8
  /// four times what rounding that cache does to the plain model itself, beside it.
  void expectNear(std::span<const float> logits, std::span<const int32_t> ids, const std::string& where) {
    const std::vector<float> whole = exact->run(ids);
    const auto expected = std::span(whole).last(kVocab);
    float bound = 0x1p-11F * std::fabs(*std::ranges::max_element(expected, {}, [](float x) { return std::fabs(x); }));
    if (!rounded) {
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
    if (rounded) rounded->truncate(first, last);
  }

  import::ModelSpec spec;
  std::deque<import::HeadNorms> norms;
  import::ModelSpec evenSpec;
  SessionPtr session;
  CacheRounding rounding{GetParam().kvType};
  std::optional<golden::ReferenceModel> exact;
  std::optional<golden::ReferenceModel> rounded;
  uint32_t rows = 0;
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

INSTANTIATE_TEST_SUITE_P(
    Models, ShiftReplayTest,
    testing::Values(ReplayCase{"gemma3_reference", "gguf/gemma3.gguf", "reference", DType::kF32},
                    ReplayCase{"gemma3_cpu", "gguf/gemma3.gguf", "cpu", DType::kF16},
                    ReplayCase{"gemma3_i8", "gguf/gemma3.gguf", "cpu", DType::kI8},
                    ReplayCase{"window_reference", "gguf/mistral-window.gguf", "reference", DType::kF32},
                    ReplayCase{"window_cpu", "gguf/mistral-window.gguf", "cpu", DType::kF16},
                    ReplayCase{"window_reference_i8", "gguf/mistral-window.gguf", "reference", DType::kI8},
                    ReplayCase{"window_i8", "gguf/mistral-window.gguf", "cpu", DType::kI8},
                    ReplayCase{"yarn_cpu", "gguf/llama-yarn.gguf", "cpu", DType::kF16},
                    ReplayCase{"yarn_i8", "gguf/llama-yarn.gguf", "cpu", DType::kI8},
                    ReplayCase{"qwen2_cpu", "gguf/qwen2.gguf", "cpu", DType::kF16},
                    ReplayCase{"qwen2_i8", "gguf/qwen2.gguf", "cpu", DType::kI8}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace firn::e2e
