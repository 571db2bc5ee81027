#include "compiler/import/rope_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace firn::import {
namespace {

// base^(-2i / dims), each step rounded to fp32.
float plainFrequency(const RopeParameters& parameters, uint32_t pair) {
  const float exponent = static_cast<float>(2 * pair) / static_cast<float>(parameters.dims);
  return 1.0F / static_cast<float>(std::pow(parameters.base, static_cast<double>(exponent)));
}

// Long waves are slowed by the factor, short ones kept, those between blended by how often they turn in the original
// context.
float llama3Frequency(const RopeParameters& parameters, float plain) {
  const double wavelength = 2 * std::numbers::pi / plain;
  const double turns = parameters.originalContext / wavelength;
  if (turns < parameters.lowFrequencyFactor) return static_cast<float>(plain / parameters.factor);
  if (turns > parameters.highFrequencyFactor) return plain;
  const double smooth =
      (turns - parameters.lowFrequencyFactor) / (parameters.highFrequencyFactor - parameters.lowFrequencyFactor);
  return static_cast<float>((1 - smooth) * plain / parameters.factor + smooth * plain);
}

// The pair index at which a wave turns `rotations` times in the original context.
double yarnCorrection(const RopeParameters& parameters, double rotations) {
  return parameters.dims * std::log(parameters.originalContext / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(parameters.base));
}

struct YarnRamp {
  double low;
  double high;
};

YarnRamp yarnRamp(const RopeParameters& parameters) {
  const double low = std::max(std::floor(yarnCorrection(parameters, parameters.betaFast)), 0.0);
  double high =
      std::min(std::ceil(yarnCorrection(parameters, parameters.betaSlow)), static_cast<double>(parameters.dims) - 1);
  if (low == high) high += 0.001;
  return {low, high};
}

float yarnFrequency(const RopeParameters& parameters, const YarnRamp& ramp, uint32_t pair) {
  const float plain = plainFrequency(parameters, pair);
  const double slowed = std::clamp((pair - ramp.low) / (ramp.high - ramp.low), 0.0, 1.0);
  return static_cast<float>(plain / parameters.factor * slowed + plain * (1 - slowed));
}

float scaledFrequency(const RopeParameters& parameters, uint32_t pair) {
  const float plain = plainFrequency(parameters, pair);
  switch (parameters.scaling) {
    case RopeScaling::kNone: return plain;
    case RopeScaling::kLinear: return static_cast<float>(plain / parameters.factor);
    case RopeScaling::kLlama3: return llama3Frequency(parameters, plain);
    case RopeScaling::kYarn: return yarnFrequency(parameters, yarnRamp(parameters), pair);
  }
  return plain;
}

}  // namespace

RopeFrequencies ropeFrequencies(const RopeParameters& parameters) {
  RopeFrequencies out;
  out.freqs.reserve(parameters.dims / 2);
  for (uint32_t pair = 0; pair < parameters.dims / 2; ++pair) {
    float frequency = scaledFrequency(parameters, pair);
    if (!parameters.divisors.empty()) frequency /= parameters.divisors[pair];
    out.freqs.push_back(frequency);
  }
  if (parameters.scaling == RopeScaling::kYarn && parameters.factor > 1) {
    out.magnitude = static_cast<float>(0.1 * std::log(parameters.factor) + 1.0);
  }
  return out;
}

}  // namespace firn::import
