// rope: rotary position embedding. Pair p of a head at position t is turned by the angle a = float(t) * freqs[p]:
//   x' = (x * cos a - y * sin a) * magnitude,  y' = (x * sin a + y * cos a) * magnitude
// (cos and sin are scaled by the magnitude first). Interleaved: pair p is elements 2p and 2p + 1; half-split: p and
// p + dims/2. Elements from `dims` on are copied. Angle, cos and sin are fp32.
// Source: Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021.
#pragma once

#include <cstdint>

#include "kernels/reference/view.h"

namespace firn::reference {

/// The numbers are those of the task's attribute.
enum class RopePairing : uint32_t { kInterleaved = 0, kHalfSplit = 1 };

struct RopeArgs {
  ConstHeads in;                       ///< [m, heads, d]
  Heads out;                           ///< [m, heads, d]; may be `in`
  const int32_t* positions = nullptr;  ///< m values
  const float* freqs = nullptr;        ///< dims / 2 values, any scaling included
  uint32_t dims = 0;                   ///< rotated width, even, <= d
  RopePairing pairing = RopePairing::kInterleaved;
  float magnitude = 1.0F;
};

void rope(const RopeArgs& args);

}  // namespace firn::reference
