// add_key_bias: keys that a cache holds without the bias of their projection get it back. Row r is the key of position
// r:
//   x[h, r, :] += R(r) bias[h, :],  R(r) the turn of rope by position r (kernels/reference/rope.h).
// Since R(r) (k + b) = R(r) k + R(r) b, the sum is the key that the projection with its bias would give.
#pragma once

#include <cstdint>

#include "kernels/reference/rope.h"
#include "kernels/reference/view.h"

namespace firn::reference {

struct AddKeyBiasArgs {
  Heads x;                       ///< heads, d
  uint64_t rows = 0;             ///< of x, from 0 on
  WeightView bias;               ///< [heads, d], f32, f16 or bf16
  const float* freqs = nullptr;  ///< dims / 2 values, any scaling included
  uint32_t dims = 0;             ///< rotated width, even, <= d
  RopePairing pairing = RopePairing::kInterleaved;
  float magnitude = 1.0F;
};

void addKeyBias(const AddKeyBiasArgs& args);

}  // namespace firn::reference
