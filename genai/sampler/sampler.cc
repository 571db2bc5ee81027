#include "genai/sampler/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace firn::genai {
namespace {

constexpr uint64_t kPcgMultiplier = 6364136223846793005ULL;
constexpr uint64_t kPcgIncrement = 1442695040888963407ULL;

}  // namespace

Status checkLogits(std::span<const float> logits) {
  if (logits.empty()) return invalidArgument("no logits to choose a token from");
  // Exponents of ones alone are those of NaN and Inf. Counted without a branch: it is done for each token.
  constexpr uint32_t kExponent = 0x7F800000;
  uint32_t bad = 0;
  for (const float logit : logits) bad += (std::bit_cast<uint32_t>(logit) & kExponent) == kExponent ? 1 : 0;
  if (bad == 0) return Status::ok();
  return corrupt(std::to_string(bad) + " of " + std::to_string(logits.size()) +
                 " logits are NaN (not a number) or infinite: weights of the model are NaN, infinite, or so large that "
                 "sums overflow. firn inspect --verify tells whether a blob was damaged: compile its model again. "
                 "Otherwise get the model file again, or another quantization of it");
}

Result<int32_t> argmax(std::span<const float> logits) {
  FIRN_RETURN_IF_ERROR(checkLogits(logits));
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

Pcg32::Pcg32(uint64_t seed) : state_((kPcgIncrement + seed) * kPcgMultiplier + kPcgIncrement) {}

uint32_t Pcg32::next() {
  const uint64_t old = state_;
  state_ = old * kPcgMultiplier + kPcgIncrement;
  const auto shifted = static_cast<uint32_t>(((old >> 18) ^ old) >> 27);
  const auto rotation = static_cast<uint32_t>(old >> 59);
  return shifted >> rotation | shifted << (-rotation & 31);
}

double Pcg32::uniform() {
  const uint64_t high = next();
  const uint64_t low = next();
  return static_cast<double>((high << 32 | low) >> 11) * 0x1p-53;
}

Result<Sampler> Sampler::make(const SamplerOptions& options) {
  if (!(options.temperature >= 0 && options.temperature <= kMaxTemperature)) {
    return invalidArgument("temperature is " + std::to_string(options.temperature) +
                           "; it must be from 0 (greedy) to 1000000");
  }
  return Sampler(options);
}

Result<int32_t> Sampler::sample(std::span<const float> logits, int32_t best) {
  if (best >= 0 && static_cast<size_t>(best) < logits.size()) {
    FIRN_RETURN_IF_ERROR(checkLogits(logits));
  } else {
    FIRN_ASSIGN_OR_RETURN(best, argmax(logits));
  }
  if (options_.temperature < kGreedyTemperature) return best;
  const double most = logits[static_cast<size_t>(best)];
  weights_.resize(logits.size());
  double sum = 0;
  for (size_t id = 0; id < logits.size(); ++id) {
    weights_[id] = std::exp((logits[id] - most) / options_.temperature);
    sum += weights_[id];
  }
  const double target = random_.uniform() * sum;
  double reached = 0;
  int32_t last = best;
  for (size_t id = 0; id < logits.size(); ++id) {
    if (weights_[id] == 0) continue;
    reached += weights_[id];
    last = static_cast<int32_t>(id);
    if (target < reached) return last;
  }
  return last;  // rounding made target == sum
}

}  // namespace firn::genai
