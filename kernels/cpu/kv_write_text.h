// kv_write: rows of keys and values into a cache of f16, f32, or i8 with a scale for each row (docs/arithmetic.md,
// "kv_write"; base/row_i8.h is the same in plain words). Kernel text: included after a vector header.
#pragma once

#include "kernels/cpu/arithmetic.h"
#include "kernels/cpu/elementwise_text.h"
#include "kernels/cpu/kernels.h"

namespace firn::cpu {
namespace {

FIRN_INLINE void writeF16Row(const float* in, uint16_t* out, size_t dim) {
  for (size_t j = 0; j < dim; j += 16) {
    const size_t n = lanesAt(j, dim);
    storeF16N(out + j, loadN(in + j, n), n);
  }
}

FIRN_INLINE void writeF32Row(const float* in, float* out, size_t dim) {
  for (size_t j = 0; j < dim; j += 16) {
    const size_t n = lanesAt(j, dim);
    storeN(out + j, loadN(in + j, n), n);
  }
}

/// Returns the scale.
FIRN_INLINE float writeI8Row(const float* in, int8_t* out, size_t dim) {
  I32 largest = splatInt(0);
  for (size_t j = 0; j < dim; j += 16) largest = maxInt(largest, magnitudeBits(loadN(in + j, lanesAt(j, dim))));
  const int32_t bits = maximumInt(largest);
  float magnitude;
  __builtin_memcpy(&magnitude, &bits, sizeof magnitude);
  const bool isFinite = bits < 0x7F800000;
  const bool isCoded = isFinite && magnitude >= kMinGroupMagnitude;
  const F32 inverse = splat(isCoded ? static_cast<float>(kMaxCode1) / magnitude : 0.0F);
  for (size_t j = 0; j < dim; j += 16) {
    const size_t n = lanesAt(j, dim);
    // Not coded: 0 for every lane, where NaN or Inf times 0 would be no number.
    const I32 code = isCoded ? roundToInt(mul(loadN(in + j, n), inverse)) : splatInt(0);
    if (n == 16) {
      storeCodes(out + j, code);
    } else {
      int8_t codes[16];
      storeCodes(codes, code);
      __builtin_memcpy(out + j, codes, n);
    }
  }
  if (!isFinite) return __builtin_nanf("");
  return isCoded ? magnitude / static_cast<float>(kMaxCode1) : 0.0F;
}

void kvWrite(const KvWriteArgs& args) {
  for (uint32_t h = 0; h < args.heads; ++h) {
    for (uint32_t i = 0; i < args.rows; ++i) {
      const float* in = args.in + i * args.rowStride + h * args.headStride;
      const size_t row = size_t{args.row0} + i;
      const size_t at = h * args.cacheHeadStride + row * args.cacheRowStride;
      if (args.type == DType::kI8) {
        args.scales[h * args.scaleHeadStride + row] =
            writeI8Row(in, static_cast<int8_t*>(args.cache) + at, args.headDim);
      } else if (args.type == DType::kF32) {
        writeF32Row(in, static_cast<float*>(args.cache) + at, args.headDim);
      } else {
        writeF16Row(in, static_cast<uint16_t*>(args.cache) + at, args.headDim);
      }
    }
  }
}

}  // namespace
}  // namespace firn::cpu
