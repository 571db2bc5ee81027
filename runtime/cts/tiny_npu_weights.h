// The weights of the tiny model as the npu target has them: f32 matrices as they are, those of q8_0 as a plane of codes
// and one of scales.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cts/tiny_model.h"

namespace firn::runtime::cts {

/// Where a matrix [N, K] lies, and how long its planes are.
struct NpuMatrix {
  uint64_t rows = 0;    ///< offset of the raw rows, or of codes u8[N, K]
  uint64_t scales = 0;  ///< of f16[N, K / 32]; q8_0 only
};

/// The matrices of a layer in the order of their params.
enum class NpuWeight : uint8_t { kQ, kK, kV, kO, kGate, kUp, kDown };
inline constexpr uint32_t kNpuWeights = 7;

struct TinyNpuWeights {
  NpuMatrix embedding;  ///< the head too
  uint64_t outputNorm = 0;
  uint64_t freqs = 0;
  /// Of each layer the arguments of its body: both norms, the key bias, rows and scales of each NpuWeight, the caches
  /// of K and V.
  std::vector<std::vector<uint64_t>> layerArgs;
};

/// The tensor of a layer, [N, K].
const TinyTensor& npuTensor(const TinyLayer& layer, NpuWeight weight);
/// Puts them into `arena`.
TinyNpuWeights packTinyNpuWeights(const TinyWeights& weights, const TinyOptions& options, WeightArena& arena);

}  // namespace firn::runtime::cts
