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

/// 16 pairs (a, b) of a head, or fewer and zeros.
struct Pairs {
  F32 a, b;
};

/// Which of its `half` pairs: those from the first on.
struct PairsAt {
  size_t first;
  size_t half;
  bool halfSplit;

  FIRN_INLINE size_t count() const { return lanesAt(first, half); }
};

FIRN_INLINE Pairs loadPairsOf(const float* head, const PairsAt& at) {
  if (at.halfSplit) return {loadN(head + at.first, at.count()), loadN(head + at.half + at.first, at.count())};
  Pairs pairs;
  loadPairsN(head + 2 * at.first, at.count(), pairs.a, pairs.b);
  return pairs;
}

FIRN_INLINE void storePairsOf(float* head, const PairsAt& at, const Pairs& pairs) {
  if (!at.halfSplit) return storePairsN(head + 2 * at.first, at.count(), pairs.a, pairs.b);
  storeN(head + at.first, pairs.a, at.count());
  storeN(head + at.half + at.first, pairs.b, at.count());
}

/// Pairs of a head turned by a row of the table.
FIRN_INLINE Pairs rotated(const float* head, const float* table, const PairsAt& at) {
  F32 cosine;
  F32 sine;
  loadPairsN(table + 2 * at.first, at.count(), cosine, sine);
  const Pairs pairs = loadPairsOf(head, at);
  return {fma(pairs.a, cosine, negate(mul(pairs.b, sine))), fma(pairs.a, sine, mul(pairs.b, cosine))};
}

void rope(const RopeArgs& args) {
  for (uint32_t i = 0; i < args.rows; ++i) {
    const float* table = args.table + static_cast<size_t>(args.positions[i]) * args.tableStride;
    for (uint32_t h = 0; h < args.heads; ++h) {
      float* head = args.x + i * args.rowStride + h * args.headStride;
      for (size_t j = 0; j < args.dims / 2; j += 16) {
        const PairsAt at = {j, args.dims / 2, args.halfSplit};
        storePairsOf(head, at, rotated(head, table, at));
      }
    }
  }
}

}  // namespace
}  // namespace firn::cpu
