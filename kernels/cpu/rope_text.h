// rope: rotation of pairs by tabulated angles, in place. Kernel text: included after a vector header.
#pragma once

#include "kernels/cpu/elementwise_text.h"
#include "kernels/cpu/kernels.h"

namespace firn::cpu {
namespace {

/// 32 floats as 16 pairs, or the first n pairs and zeros.
FIRN_INLINE void loadPairsN(const float* p, size_t n, F32& even, F32& odd) {
  if (n == 16) return loadPairs(p, even, odd);
  float pairs[32] = {};
  __builtin_memcpy(pairs, p, 2 * n * sizeof(float));
  loadPairs(pairs, even, odd);
}
FIRN_INLINE void storePairsN(float* p, size_t n, F32 even, F32 odd) {
  if (n == 16) return storePairs(p, even, odd);
  float pairs[32];
  storePairs(pairs, even, odd);
  __builtin_memcpy(p, pairs, 2 * n * sizeof(float));
}

/// Rotates pairs j .. j + n - 1 of one head.
FIRN_INLINE void rotatePairs(const RopeArgs& args, float* head, const float* table, size_t j) {
  const size_t half = args.dims / 2;
  const size_t n = lanesAt(j, half);
  F32 cosine;
  F32 sine;
  loadPairsN(table + 2 * j, n, cosine, sine);
  F32 a;
  F32 b;
  if (args.halfSplit) {
    a = loadN(head + j, n);
    b = loadN(head + half + j, n);
  } else {
    loadPairsN(head + 2 * j, n, a, b);
  }
  const F32 rotatedA = fma(a, cosine, negate(mul(b, sine)));
  const F32 rotatedB = fma(a, sine, mul(b, cosine));
  if (args.halfSplit) {
    storeN(head + j, rotatedA, n);
    storeN(head + half + j, rotatedB, n);
  } else {
    storePairsN(head + 2 * j, n, rotatedA, rotatedB);
  }
}

void rope(const RopeArgs& args) {
  for (uint32_t i = 0; i < args.rows; ++i) {
    const float* table = args.table + static_cast<size_t>(args.positions[i]) * args.tableStride;
    for (uint32_t h = 0; h < args.heads; ++h) {
      float* head = args.x + i * args.rowStride + h * args.headStride;
      for (size_t j = 0; j < args.dims / 2; j += 16) rotatePairs(args, head, table, j);
    }
  }
}

}  // namespace
}  // namespace firn::cpu
