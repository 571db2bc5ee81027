// npu.rope: rotary position embedding (SHAVE). Pair p of a head at position t is turned by a = float(t) * freqs[p]:
//   x' = x * cos - y * sin,  y' = x * sin + y * cos
// with cos and sin of a rounded to f32 and multiplied by the magnitude. Each operation is rounded to f32. Interleaved:
// pair p is elements 2p and 2p + 1; half-split: p and p + dims / 2. Elements from `dims` on are copied.
//
// cos and sin are our own, in double, since those of a libm differ from machine to machine: n = nearest integer to
// a * 2 / pi, r = a - n * pi / 2 with pi / 2 in four parts, of which n times the first three is exact for n below 2^31
// (Cody and Waite), then the Taylor polynomials of degree 15 and 16. For |a| below 2^31 they are within 1e-15; beyond,
// the result means nothing, but is the same everywhere.
#pragma once

#include "kernels/npu/view.h"

namespace firn::npu {

/// The numbers are those of the task's attribute.
enum class RopePairing : uint32_t { kInterleaved = 0, kHalfSplit = 1 };

struct RopeArgs {
  const float* in = nullptr;  ///< [m, heads, headDim]
  uint64_t inRowStride = 0;
  uint64_t inHeadStride = 0;
  DType outType = DType::kF32;  ///< f32 or f16
  void* out = nullptr;          ///< [m, heads, headDim]; may be `in` with its strides where it is f32
  uint64_t outRowStride = 0;
  uint64_t outHeadStride = 0;
  uint64_t rows = 0;
  uint64_t heads = 0;
  uint64_t headDim = 0;
  const int32_t* positions = nullptr;  ///< m values
  const float* freqs = nullptr;        ///< dims / 2 values, any scaling included
  uint64_t dims = 0;                   ///< rotated width, even, <= headDim
  RopePairing pairing = RopePairing::kInterleaved;
  float magnitude = 1;
};

void rope(const RopeArgs& args);

}  // namespace firn::npu
