// Rows of a KV cache as fp32, by the type of the cache, and the bias that keys of an i8 cache are stored without
// (docs/arithmetic.md, "attention"). Kernel text: included after a vector header.
#pragma once

#include "kernels/cpu/elementwise_text.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rope_text.h"

namespace firn::cpu {
namespace {

/// Rows of K or V of one KV head: at(d, n) is elements d .. d + n - 1 of one of them, and zeros.
struct F16Rows {
  const uint16_t* rows;
  size_t stride;

  struct Row {
    const uint16_t* data;
    FIRN_INLINE F32 at(size_t d, size_t n) const { return loadF16N(data + d, n); }
  };
  FIRN_INLINE Row row(size_t r) const { return {rows + r * stride}; }
};

struct F32Rows {
  const float* rows;
  size_t stride;

  struct Row {
    const float* data;
    FIRN_INLINE F32 at(size_t d, size_t n) const { return loadN(data + d, n); }
  };
  FIRN_INLINE Row row(size_t r) const { return {rows + r * stride}; }
};

struct I8Rows {
  const uint8_t* rows;
  size_t stride;
  const float* scales;

  struct Row {
    const uint8_t* data;
    F32 scale;
    FIRN_INLINE F32 at(size_t d, size_t n) const {
      if (n == 16) return mul(scale, loadI8(data + d));
      uint8_t codes[16] = {};
      __builtin_memcpy(codes, data + d, n);
      return mul(scale, loadI8(codes));
    }
  };
  FIRN_INLINE Row row(size_t r) const { return {rows + r * stride, splat(scales[r])}; }
};

/// Adds the bias of one KV head, turned to position `row`, to a key.
FIRN_INLINE void addTurnedBias(const KeyBias& turn, const float* bias, size_t row, float* key, size_t headDim) {
  const float* table = turn.table + row * turn.tableStride;
  const size_t half = turn.dims / 2;
  for (size_t j = 0; j < half; j += 16) {
    const Pairs added = rotated(bias, table, {j, half, turn.halfSplit});
    const Pairs old = loadPairsOf(key, {j, half, turn.halfSplit});
    storePairsOf(key, {j, half, turn.halfSplit}, {add(old.a, added.a), add(old.b, added.b)});
  }
  for (size_t d = turn.dims; d < headDim; d += 16) {
    const size_t n = lanesAt(d, headDim);
    storeN(key + d, add(loadN(key + d, n), loadN(bias + d, n)), n);
  }
}

}  // namespace
}  // namespace firn::cpu
