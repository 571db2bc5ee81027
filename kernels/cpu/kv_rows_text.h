// Rows of a KV cache as fp32, by the type of the cache, and the bias that keys of an i8 cache are stored without
// (docs/arithmetic.md, "attention"). Kernel text: included after a vector header.
#pragma once

#include "kernels/cpu/elementwise_text.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rope_text.h"

namespace firn::cpu {
namespace {

FIRN_INLINE F32 loadElements(const uint16_t* halves, size_t n) { return loadF16N(halves, n); }
FIRN_INLINE F32 loadElements(const float* floats, size_t n) { return loadN(floats, n); }

/// Rows of K or V of one KV head, of f16 (as uint16_t) or f32: at(d, n) is elements d .. d + n - 1 of one of them, and
/// zeros.
template <typename Element>
struct FloatRows {
  const Element* rows;
  size_t stride;

  struct Row {
    const Element* data;
    FIRN_INLINE F32 at(size_t d, size_t n) const { return loadElements(data + d, n); }
  };
  FIRN_INLINE Row row(size_t r) const { return {rows + r * stride}; }
};

/// Those from element `at` on.
template <typename Element>
FIRN_INLINE FloatRows<Element> floatRows(const void* elements, size_t at, size_t stride) {
  return {static_cast<const Element*>(elements) + at, stride};
}

/// The same of i8 with a scale for each row.
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
