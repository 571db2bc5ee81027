// The weights of the tiny model as the cpu target has them: matrices in panels, split by lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cts/tiny_model.h"

namespace firn::runtime::cts {

/// What one lane owns: a range of each split, as first and count.
struct Share {
  uint32_t first = 0;
  uint32_t count = 0;
};

inline Share share(uint32_t total, uint32_t lanes, uint32_t lane) {
  const uint32_t size = total / lanes;
  return {.first = lane * size, .count = size};
}

/// Offsets of the packed weights.
struct TinyCpuWeights {
  uint64_t embedding = 0;
  uint64_t outputNorm = 0;
  uint64_t ropeTable = 0;  ///< cos and sin of each position and pair
  /// Of each layer the arguments of its body: both norms, the caches of K and V, then for each lane q, k, v, o, gate,
  /// up, down and the key bias.
  std::vector<std::vector<uint64_t>> layerArgs;
};

/// Packs them into `arena`.
TinyCpuWeights packTinyCpuWeights(const TinyWeights& weights, const TinyOptions& options, WeightArena& arena);

}  // namespace firn::runtime::cts
