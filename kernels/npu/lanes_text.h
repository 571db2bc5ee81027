// What the kernel texts of the npu ops share, on top of the vectors and the exp of kernels/cpu. Kernel text: included
// after a vector header, everything has internal linkage.
#pragma once

#include "kernels/cpu/exp_text.h"
#include "kernels/npu/view.h"

namespace firn::npu {
namespace {

using namespace firn::cpu;

FIRN_INLINE size_t lanesAt(size_t index, size_t count) { return count - index < 16 ? count - index : 16; }
FIRN_INLINE size_t least(size_t a, size_t b) { return a < b ? a : b; }

template <typename T>
FIRN_INLINE T* rowOf(const MatrixView<T>& view, size_t i) {
  return view.data + i * view.rowStride;
}

/// acc + a * b for products that are exact: fused or not, the bits are the same, and not every set has a fast fma.
FIRN_INLINE F32 addProduct(F32 acc, F32 a, F32 b) {
#ifdef __FMA__
  return fma(a, b, acc);
#else
  return add(acc, mul(a, b));
#endif
}

/// A load of f16 that only needs a mask at the end of a row.
FIRN_INLINE F32 loadHalves(const uint16_t* p, size_t n) { return n == 16 ? loadF16(p) : loadF16N(p, n); }

/// Row i of an output, from column j on.
FIRN_INLINE void storeFloats(const FloatView& out, size_t i, size_t j, F32 x) {
  const size_t at = i * out.rowStride + j;
  const size_t n = lanesAt(j, out.columns);
  if (out.type == DType::kF16) return storeF16N(static_cast<uint16_t*>(out.data) + at, x, n);
  storeN(static_cast<float*>(out.data) + at, x, n);
}

/// 16 bytes, on every instruction set in one register.
using U8x16 = uint8_t __attribute__((vector_size(16)));

FIRN_INLINE U8x16 loadU8x16(const void* p, size_t n) {
  U8x16 x = {};
  __builtin_memcpy(&x, p, n);
  return x;
}
FIRN_INLINE F32 toFloat(U8x16 x) {
  uint8_t bytes[16];
  __builtin_memcpy(bytes, &x, sizeof bytes);
  return loadU8(bytes);
}
FIRN_INLINE F32 toFloatSigned(U8x16 x) {
  uint8_t bytes[16];
  __builtin_memcpy(bytes, &x, sizeof bytes);
  return loadI8(bytes);
}

}  // namespace
}  // namespace firn::npu
