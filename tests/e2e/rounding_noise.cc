#include "tests/e2e/rounding_noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "base/dtype.h"
#include "tests/golden/recorded.h"
#include "tests/golden/reference_model.h"

namespace firn::e2e {
namespace {

constexpr size_t kGroup = 32;
constexpr uint32_t kDraws = 3;

/// Errors drawn evenly from what the roundings allow (docs/arithmetic.md).
class RandomRounding : public golden::Rounding {
 public:
  RandomRounding(const Roundings& roundings, uint32_t seed) : roundings_(roundings), random_(seed) {}

  void linearInput(golden::LinearInput input, DType weights, std::span<float> values, uint64_t columns) override {
    if (roundings_.halfOperands) return addHalfNoise(values);
    if (!roundings_.planes || !dtypeInfo(weights)->isQuantized) return;  // float matrices read fp32
    const float codes = planesOf(input) == 2 ? 32512 : 127;
    for (size_t row = 0; row < values.size(); row += columns) {
      for (size_t first = 0; first < columns; first += kGroup) {
        addNoise(values.subspan(row + first, std::min<size_t>(kGroup, columns - first)), codes);
      }
    }
  }

  void cacheRows(std::span<float> values, uint64_t headDim) override {
    if (roundings_.kvType == DType::kF32) return;
    if (roundings_.kvType == DType::kI8) {
      for (size_t row = 0; row < values.size(); row += headDim) addNoise(values.subspan(row, headDim), 127);
      return;
    }
    addHalfNoise(values);
  }
  bool keysWithoutBias() const override { return roundings_.kvType == DType::kI8; }

 private:
  void addHalfNoise(std::span<float> values) {
    const float factor = roundings_.halfOperands ? std::numbers::sqrt2_v<float> : 1;
    for (float& value : values) {
      int exponent = 0;
      std::frexp(value, &exponent);                                      // value = 0.5..1 * 2^exponent
      const float ulp = std::ldexp(1.0F, std::max(exponent - 11, -24));  // fp16 has 11 bits, the smallest step is 2^-24
      value += factor * ulp / 2 * uniform_(random_);
    }
  }

  uint32_t planesOf(golden::LinearInput input) const {
    switch (input) {
      case golden::LinearInput::kAttention: return roundings_.planes->attentionInputs;
      case golden::LinearInput::kHead: return roundings_.planes->head;
      default: return roundings_.planes->others;
    }
  }

  /// Half a code of a group whose largest value has the code `codes`, without an error.
  void addNoise(std::span<float> group, float codes) {
    float largest = 0;
    for (const float value : group) largest = std::max(largest, std::fabs(value));
    const float halfCode = largest / codes / 2;
    for (float& value : group) {
      if (std::fabs(value) != largest) value += halfCode * uniform_(random_);
    }
  }

  Roundings roundings_;
  std::mt19937 random_;
  std::uniform_real_distribution<float> uniform_{-1.0F, 1.0F};
};

}  // namespace

import::ModelSpec withEvenNorms(import::ModelSpec model, std::deque<import::HeadNorms>& norms) {
  for (import::LayerSpec& layer : model.layers) {
    auto even = import::evenHeadNorms(layer, import::ropeOf(model, layer), model.headDim);
    if (!even) continue;
    norms.push_back(*std::move(even));
    layer.qNorm->bytes = std::as_bytes(std::span(norms.back().q));
    layer.kNorm->bytes = std::as_bytes(std::span(norms.back().k));
  }
  return model;
}

ModelBound boundOfModel(const import::ModelSpec& model, std::span<const int32_t> ids, const Roundings& roundings) {
  const std::vector<float> exact = golden::ReferenceModel(model, ids.size()).run(ids);
  std::deque<import::HeadNorms> norms;
  const import::ModelSpec cached = roundings.kvType == DType::kI8 ? withEvenNorms(model, norms) : model;
  ModelBound bound;
  for (uint32_t draw = 0; draw < kDraws; ++draw) {
    RandomRounding rounding(roundings, draw + 1);
    const std::vector<float> moved = golden::ReferenceModel(cached, ids.size(), &rounding).run(ids);
    bound.largest = std::max(bound.largest, golden::largestDifference(exact, moved));
    const double rms = golden::rmsDifference(exact, moved);
    bound.rms = std::max(bound.rms, rms);
    bound.rmsAtLeast = draw == 0 ? rms : std::min(bound.rmsAtLeast, rms);
  }
  bound.rmsAtLeast = bound.rmsAtLeast / kRmsFactor - double{golden::kRecordedTolerance};
  bound.rms = bound.rms * kRmsFactor + double{golden::kRecordedTolerance};
  bound.largest = bound.largest * kLargestFactor + golden::kRecordedTolerance;
  return bound;
}

}  // namespace firn::e2e
