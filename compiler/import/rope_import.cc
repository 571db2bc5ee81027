#include "compiler/import/rope_import.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/concat.h"
#include "base/joined.h"
#include "base/quote.h"
#include "base/real_text.h"
#include "blob/card_limits.h"
#include "compiler/import/decoder_refusals.h"
#include "compiler/import/rope_frequencies.h"

namespace firn::import {
namespace {

using Derived = ArchitectureKeys::Derived;

constexpr std::string_view kHeadWidth = "the width of a head";
constexpr double kMostBase = 1e12;
constexpr double kMostFactor = 1e6;
constexpr uint32_t kMostContext = std::numeric_limits<int32_t>::max();

struct ScalingName {
  std::string_view name;
  RopeScaling scaling;
};
constexpr ScalingName kScalings[] = {
    {"none", RopeScaling::kNone},
    {"linear", RopeScaling::kLinear},
    {"llama3", RopeScaling::kLlama3},
    {"yarn", RopeScaling::kYarn},
};

// Without a type, a factor means linear scaling (the key's older use, and that of the key scale_linear).
Result<RopeScaling> readScaling(const ArchitectureKeys& keys) {
  FIRN_ASSIGN_OR_RETURN(const std::optional<std::string_view> type, keys.text("rope.scaling.type"));
  if (!type) {
    const bool factor = keys.has("rope.scaling.factor") || keys.has("rope.scale_linear");
    return factor ? RopeScaling::kLinear : RopeScaling::kNone;
  }
  const auto* const found = std::ranges::find(kScalings, *type, &ScalingName::name);
  if (found != std::end(kScalings)) return found->scaling;
  return keys.unsupportedKey(
      "rope.scaling.type", concat("is ", quoted(*type), "; supported: ", joined(kScalings, ", ", &ScalingName::name)));
}

bool hasOldFactor(const ArchitectureKeys& keys) {
  return !keys.has("rope.scaling.factor") && keys.has("rope.scale_linear");
}

Status readScalingNumbers(const ArchitectureKeys& keys, const ModelSpec& spec, RopeParameters* rope) {
  if (rope->scaling == RopeScaling::kNone) return Status::ok();
  FIRN_ASSIGN_OR_RETURN(rope->factor,
                        keys.real(hasOldFactor(keys) ? "rope.scale_linear" : "rope.scaling.factor", {0, kMostFactor}));
  if (rope->scaling == RopeScaling::kLinear) return Status::ok();
  std::optional<Derived> context;
  if (spec.trainedContext > 0) context = Derived{spec.trainedContext, "'context_length'"};
  FIRN_ASSIGN_OR_RETURN(rope->originalContext,
                        keys.count("rope.scaling.original_context_length", kMostContext, context));
  if (rope->scaling == RopeScaling::kYarn) {
    FIRN_ASSIGN_OR_RETURN(rope->betaFast, keys.real("rope.scaling.yarn_beta_fast", {0, kMostFactor}, rope->betaFast));
    FIRN_ASSIGN_OR_RETURN(rope->betaSlow, keys.real("rope.scaling.yarn_beta_slow", {0, kMostFactor}, rope->betaSlow));
    return Status::ok();
  }
  FIRN_ASSIGN_OR_RETURN(rope->lowFrequencyFactor, keys.real("rope.scaling.low_freq_factor", {0, kMostFactor}, 1.0));
  FIRN_ASSIGN_OR_RETURN(rope->highFrequencyFactor,
                        keys.real("rope.scaling.high_freq_factor", {rope->lowFrequencyFactor, kMostFactor}, 4.0));
  return Status::ok();
}

bool isFrequency(float value) { return value >= 0 && value <= blob::kMostRopeFrequency; }

Result<std::vector<float>> readDivisors(uint32_t dims, WeightSource& weights) {
  std::vector<float> divisors;
  if (!weights.has("rope_freqs.weight")) return divisors;
  FIRN_ASSIGN_OR_RETURN(const TensorView tensor, weights.vector("rope_freqs.weight", dims / 2));
  for (uint32_t i = 0; i < dims / 2; ++i) {
    const auto divisor = loadLittle<float>(tensor.bytes.data() + i * sizeof(float));
    if (!std::isfinite(divisor) || divisor <= 0) {
      return corrupt(weights.path() + ": tensor 'rope_freqs.weight' has " + realText(divisor) + " at index " +
                     std::to_string(i) + ", expected finite numbers above 0");
    }
    divisors.push_back(divisor);
  }
  return divisors;
}

}  // namespace

Result<RopeSpec> importRope(const ArchitectureKeys& keys, const ModelSpec& spec, WeightSource& weights) {
  RopeParameters rope;
  FIRN_RETURN_IF_ERROR(keys.refuse(kRefusedRopeKeys));
  FIRN_ASSIGN_OR_RETURN(rope.dims, keys.count("rope.dimension_count", spec.headDim, Derived{spec.headDim, kHeadWidth}));
  if (rope.dims % 2 != 0) {
    return keys.corruptKey("rope.dimension_count", "is " + std::to_string(rope.dims) + ", expected an even number");
  }
  FIRN_ASSIGN_OR_RETURN(rope.base, keys.real("rope.freq_base", {1, kMostBase}, rope.base));
  FIRN_ASSIGN_OR_RETURN(rope.scaling, readScaling(keys));
  FIRN_ASSIGN_OR_RETURN(const std::vector<float> divisors, readDivisors(rope.dims, weights));
  // A file that carries the llama3 factors as a tensor needs no keys for them, and must not get both.
  if (rope.scaling == RopeScaling::kLlama3 && !divisors.empty()) rope.scaling = RopeScaling::kNone;
  FIRN_RETURN_IF_ERROR(readScalingNumbers(keys, spec, &rope));
  const RopeFrequencies undivided = ropeFrequencies(rope);
  rope.divisors = divisors;
  RopeFrequencies frequencies = ropeFrequencies(rope);
  for (size_t i = 0; i < frequencies.freqs.size(); ++i) {
    if (isFrequency(frequencies.freqs[i])) continue;
    const std::string found = concat(", which gives frequency ", realText(frequencies.freqs[i]), " at index ", i,
                                     ", expected 0 to ", static_cast<uint32_t>(blob::kMostRopeFrequency));
    // The base is above 1, so that only a factor makes too much of it before the tensor divides.
    if (!isFrequency(undivided.freqs[i])) {
      return keys.corruptKey(hasOldFactor(keys) ? "rope.scale_linear" : "rope.scaling.factor",
                             "is " + realText(rope.factor) + found);
    }
    return corrupt(concat(weights.path(), ": tensor 'rope_freqs.weight' has ", realText(divisors[i]), found));
  }
  RopeSpec out;
  out.dims = rope.dims;
  out.freqs = std::move(frequencies.freqs);
  out.magnitude = frequencies.magnitude;
  return out;
}

Result<RopeSpec> importWindowRope(const ArchitectureKeys& keys, const ModelSpec& spec, double base) {
  RopeParameters rope;
  FIRN_ASSIGN_OR_RETURN(rope.dims, keys.count("rope.dimension_count_swa", spec.headDim,
                                              Derived{spec.rope.dims, "'rope.dimension_count'"}));
  if (rope.dims % 2 != 0) {
    return keys.corruptKey("rope.dimension_count_swa", "is " + std::to_string(rope.dims) + ", expected an even number");
  }
  FIRN_ASSIGN_OR_RETURN(rope.base, keys.real("rope.freq_base_swa", {1, kMostBase}, base));
  RopeSpec out;
  out.dims = rope.dims;
  out.freqs = ropeFrequencies(rope).freqs;
  return out;
}

}  // namespace firn::import
