// The ops whose output elements come from the input elements of their place, in f32, each operation rounded (SHAVE):
//   npu.add, npu.mul    a + b, a * b                npu.bias      x + bias[j], in place
//   npu.scale           in * factor                 npu.cast      in, as f16
//   npu.silu_mul        (g / (1 + exp(-g))) * up
//   npu.gelu_mul        (g / (1 + exp(-w))) * up, w = g * fma(g * g, 0.0713548163, 1.59576912): the tanh form
//   npu.softcap         cap * tanh(in / cap)
// silu, gelu and exp are those of the cpu target (docs/arithmetic.md): std::exp has other bits with every libm.
// tanh z: below 1/4 the odd Taylor polynomial up to z^9, by fma (the rest is below 9e-9 of it); else
// (1 - e) / (1 + e) with e = exp(-2 |z|), and the sign of z. At most 6 units roundoff of f32 off.
#pragma once

#include "kernels/npu/view.h"

namespace firn::npu {

struct BinaryArgs {
  MatrixView<const float> a;  ///< [m, n]
  MatrixView<const float> b;  ///< [m, n]
  MatrixView<float> out;      ///< [m, n]; may be a or b
};
void add(const BinaryArgs& args);
void mul(const BinaryArgs& args);

struct BiasArgs {
  MatrixView<float> x;          ///< [m, n], in place
  const float* bias = nullptr;  ///< n values
};
void bias(const BiasArgs& args);

struct ScaleArgs {
  MatrixView<const float> in;  ///< [m, n]
  MatrixView<float> out;       ///< [m, n]; may be `in`
  float factor = 1;
};
void scale(const ScaleArgs& args);

struct CastArgs {
  MatrixView<const float> in;  ///< [m, n]
  MatrixView<uint16_t> out;    ///< [m, n]; does not overlap
};
void cast(const CastArgs& args);

struct GatedArgs {
  MatrixView<const float> gate;  ///< [m, n]
  MatrixView<const float> up;    ///< [m, n]
  FloatView out;                 ///< [m, n]; may be gate or up where it is f32
};
void siluMul(const GatedArgs& args);
void geluMul(const GatedArgs& args);

struct SoftcapArgs {
  MatrixView<const float> in;  ///< [m, n]
  MatrixView<float> out;       ///< [m, n]; may be `in`
  float cap = 1;               ///< above 0
};
void softcap(const SoftcapArgs& args);

}  // namespace firn::npu
