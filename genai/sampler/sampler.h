// Logits to one token id: greedy, or by temperature with a seed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace firn::genai {

/// The temperature below which sampling is greedy.
inline constexpr float kGreedyTemperature = 1e-5F;

/// The largest temperature there is.
inline constexpr float kMaxTemperature = 1e6F;

/// How to choose a token.
struct SamplerOptions {
  float temperature = 0;  ///< in [0, kMaxTemperature]; below kGreedyTemperature (-0.0 too): greedy
  uint64_t seed = 0;      ///< of the random numbers; unused by greedy
};

/// Ok when all are numbers. corrupt, with the likely cause, when one is NaN or infinite: then no other can be trusted
/// either, since they come from the same hidden row. invalid_argument on an empty span. About 10 us for 50,000.
Status checkLogits(std::span<const float> logits);

/// The id of the largest logit, the lowest id among equals. Fails as checkLogits does.
Result<int32_t> argmax(std::span<const float> logits);

/// PCG32 (O'Neill 2014, pcg_oneseq_64_xsh_rr_32, default increment), seeded as its reference code does. Chosen over
/// <random> because the standard leaves its distributions to each library: the same seed gives the same numbers
/// everywhere.
class Pcg32 {
 public:
  explicit Pcg32(uint64_t seed);
  uint32_t next();
  /// Uniform in [0, 1): 53 bits, from two numbers.
  double uniform();

 private:
  uint64_t state_;
};

/// Chooses tokens for one sequence; owned by one thread.
class Sampler {
 public:
  /// Fails with invalid_argument if the temperature is negative, NaN or above 1e6.
  static Result<Sampler> make(const SamplerOptions& options);

  /// One id of `logits` f32[V], with probability softmax(logits / temperature). Draws one uniform number a call unless
  /// greedy; sums go in ascending id in double. `best`: argmax of them, where the caller knows it; -1: not. Fails as
  /// checkLogits does. No allocation after the first call.
  Result<int32_t> sample(std::span<const float> logits, int32_t best = -1);

 private:
  explicit Sampler(const SamplerOptions& options) : options_(options), random_(options.seed) {}

  SamplerOptions options_;
  Pcg32 random_;
  std::vector<double> weights_;
};

}  // namespace firn::genai
