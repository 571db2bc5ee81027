// Frequencies of the rotary embedding under each kind of scaling. Pure arithmetic; where the parameters come from is
// the business of the file readers. Formulas: Hugging Face transformers, modeling_rope_utils.py (compute in fp32 what
// it computes in fp32, so that angles agree at long positions); YaRN: arXiv 2309.00071.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace firn::import {

enum class RopeScaling { kNone, kLinear, kLlama3, kYarn };

struct RopeParameters {
  uint32_t dims = 0;      ///< rotated width of a head, even, > 0
  double base = 10000.0;  ///< theta, > 1
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;              ///< > 0; linear, llama3, yarn
  uint32_t originalContext = 0;     ///< tokens, > 0; llama3, yarn
  double lowFrequencyFactor = 1;    ///< llama3
  double highFrequencyFactor = 4;   ///< llama3, > lowFrequencyFactor
  double betaFast = 32;             ///< yarn, > 0
  double betaSlow = 1;              ///< yarn, > 0
  std::span<const float> divisors;  ///< empty, or dims / 2 factors that divide the frequencies in the end
};

struct RopeFrequencies {
  std::vector<float> freqs;  ///< dims / 2, radians per position
  float magnitude = 1.0F;    ///< multiplies cos and sin
};

RopeFrequencies ropeFrequencies(const RopeParameters& parameters);

}  // namespace firn::import
