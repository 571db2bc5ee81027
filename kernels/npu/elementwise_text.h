// The elementwise ops. Kernel text: included after a vector header.
#pragma once

#include "kernels/cpu/arithmetic.h"
#include "kernels/npu/elementwise.h"
#include "kernels/npu/lanes_text.h"

namespace firn::npu {
namespace {

/// out[i, j] = one(i, j, n) for the n lanes from column j on.
template <typename One>
FIRN_INLINE void eachElement(const FloatView& out, const One& one) {
  for (size_t i = 0; i < out.rows; ++i) {
    for (size_t j = 0; j < out.columns; j += 16) storeFloats(out, i, j, one(i, j, lanesAt(j, out.columns)));
  }
}

FIRN_INLINE FloatView floats(const MatrixView<float>& out) {
  return {DType::kF32, out.data, out.rows, out.columns, out.rowStride};
}
FIRN_INLINE FloatView halves(const MatrixView<uint16_t>& out) {
  return {DType::kF16, out.data, out.rows, out.columns, out.rowStride};
}

void addKernel(const BinaryArgs& args) {
  eachElement(floats(args.out), [&](size_t i, size_t j, size_t n) {
    return add(loadN(rowOf(args.a, i) + j, n), loadN(rowOf(args.b, i) + j, n));
  });
}

void mulKernel(const BinaryArgs& args) {
  eachElement(floats(args.out), [&](size_t i, size_t j, size_t n) {
    return mul(loadN(rowOf(args.a, i) + j, n), loadN(rowOf(args.b, i) + j, n));
  });
}

void biasKernel(const BiasArgs& args) {
  eachElement(floats(args.x), [&](size_t i, size_t j, size_t n) {
    return add(loadN(rowOf(args.x, i) + j, n), loadN(args.bias + j, n));
  });
}

void scaleKernel(const ScaleArgs& args) {
  eachElement(floats(args.out),
              [&](size_t i, size_t j, size_t n) { return mul(loadN(rowOf(args.in, i) + j, n), splat(args.factor)); });
}

void castKernel(const CastArgs& args) {
  eachElement(halves(args.out), [&](size_t i, size_t j, size_t n) { return loadN(rowOf(args.in, i) + j, n); });
}

template <typename Exponent>
FIRN_INLINE void gatedMul(const GatedArgs& args, const Exponent& exponent) {
  eachElement(args.out, [&](size_t i, size_t j, size_t n) {
    const F32 gate = loadN(rowOf(args.gate, i) + j, n);
    const F32 activation = div(gate, add(splat(1), exp(negate(exponent(gate)))));
    return mul(activation, loadN(rowOf(args.up, i) + j, n));
  });
}

void siluMulKernel(const GatedArgs& args) {
  gatedMul(args, [](F32 g) { return g; });
}

void geluMulKernel(const GatedArgs& args) {
  gatedMul(args, [](F32 g) { return mul(g, fma(mul(g, g), splat(kGeluCubic), splat(kGeluLinear))); });
}

FIRN_INLINE F32 tanh(F32 z) {
  const F32 magnitude = ifLess(z, splat(0), negate(z), z);
  const F32 e = exp(mul(magnitude, splat(-2)));
  const F32 far = div(sub(splat(1), e), add(splat(1), e));
  const F32 square = mul(z, z);
  F32 p = splat(62.0F / 2835);
  p = fma(p, square, splat(-17.0F / 315));
  p = fma(p, square, splat(2.0F / 15));
  p = fma(p, square, splat(-1.0F / 3));
  const F32 near = fma(mul(z, square), p, z);
  return ifLess(magnitude, splat(0.25F), near, ifLess(z, splat(0), negate(far), far));
}

void softcapKernel(const SoftcapArgs& args) {
  eachElement(floats(args.out), [&](size_t i, size_t j, size_t n) {
    return mul(splat(args.cap), tanh(div(loadN(rowOf(args.in, i) + j, n), splat(args.cap))));
  });
}

}  // namespace
}  // namespace firn::npu
