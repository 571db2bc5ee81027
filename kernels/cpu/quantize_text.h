// quantize: fp32 rows to int8 codes in one or two planes. Kernel text: included after a vector header.
#pragma once

#include "kernels/cpu/arithmetic.h"
#include "kernels/cpu/kernels.h"

namespace firn::cpu {
namespace {

/// Group g of a row: its scale and codes, in the places that `out` gives.
struct GroupOut {
  int8_t* codes;
  float* scale;
  int32_t* sum;
  size_t planeStride;
};

template <int kPlanes>
FIRN_INLINE void quantizeGroup(const F32 (&x)[2], const GroupOut& out) {
  constexpr int32_t kMaxCode = kPlanes == 1 ? kMaxCode1 : kMaxCode2;
  const int32_t bits = maximumInt(maxInt(magnitudeBits(x[0]), magnitudeBits(x[1])));
  float magnitude;
  __builtin_memcpy(&magnitude, &bits, sizeof magnitude);
  const bool isFinite = bits < 0x7F800000;
  // Too small to have a normal scale: zeros. NaN or Inf: a NaN scale carries it to every product.
  const bool isCoded = isFinite && magnitude >= kMinGroupMagnitude;
  const F32 inverse = splat(isCoded ? static_cast<float>(kMaxCode) / magnitude : 0.0F);
  *out.scale = isFinite ? (isCoded ? magnitude / static_cast<float>(kMaxCode) : 0.0F) : __builtin_nanf("");

  I32 total = splatInt(0);
  for (int v = 0; v < 2; ++v) {
    const I32 code = isCoded ? roundToInt(mul(x[v], inverse)) : splatInt(0);
    total = addInt(total, code);
    if constexpr (kPlanes == 1) {
      storeCodes(out.codes + 16 * v, code);
    } else {
      const I32 high = shiftRight<8>(addInt(code, splatInt(128)));
      storeCodes(out.codes + 16 * v, high);
      storeCodes(out.codes + out.planeStride + 16 * v, subInt(code, shiftLeft<8>(high)));
    }
  }
  *out.sum = sumInt(total);
}

template <int kPlanes>
void quantizeRows(const QuantizeArgs& args) {
  for (uint32_t i = 0; i < args.rows; ++i) {
    const float* in = args.in.data + i * args.in.rowStride;
    int8_t* codes = args.out.codes + i * args.out.rowStride;
    for (size_t k = 0, g = 0; k < args.columns; k += kGroup, ++g) {
      const size_t left = args.columns - k;
      const F32 x[2] = {loadN(in + k, left < 16 ? left : 16),
                        left > 16 ? loadN(in + k + 16, left < 32 ? left - 16 : 16) : splat(0)};
      const size_t at = i * args.out.groupStride + g;
      quantizeGroup<kPlanes>(x, {codes + k, args.out.scales + at, args.out.sums + at, args.out.planeStride});
    }
  }
}

void quantize(const QuantizeArgs& args) {
  if (args.out.planes == 1) {
    quantizeRows<1>(args);
  } else {
    quantizeRows<2>(args);
  }
}

}  // namespace
}  // namespace firn::cpu
