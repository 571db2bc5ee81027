// exp, silu_mul, gelu_mul, scale, add_partials and copy: every output element from the input elements of its place.
// Kernel text: included after a vector header.
#pragma once

#include "kernels/cpu/exp_text.h"
#include "kernels/cpu/kernels.h"

namespace firn::cpu {
namespace {

FIRN_INLINE size_t lanesAt(size_t index, size_t count) { return count - index < 16 ? count - index : 16; }

void expKernel(const float* x, float* y, size_t count) {
  for (size_t i = 0; i < count; i += 16) {
    const size_t n = count - i < 16 ? count - i : 16;
    storeN(y + i, exp(loadN(x + i, n)), n);
  }
}

/// out = activation(gate) * up.
template <typename Activation>
FIRN_INLINE void gatedMul(const GatedArgs& args, const Activation& activation) {
  for (uint32_t i = 0; i < args.rows; ++i) {
    const float* gate = args.gate.data + i * args.gate.rowStride;
    const float* up = args.up.data + i * args.up.rowStride;
    float* out = args.out.data + i * args.out.rowStride;
    for (size_t j = 0; j < args.columns; j += 16) {
      const size_t n = lanesAt(j, args.columns);
      storeN(out + j, mul(activation(loadN(gate + j, n)), loadN(up + j, n)), n);
    }
  }
}

void siluMul(const GatedArgs& args) {
  gatedMul(args, [](F32 g) { return div(g, add(splat(1), exp(negate(g)))); });
}

/// The tanh form by way of (1 + tanh z) / 2 = 1 / (1 + exp(-2 z)), which cancels nothing (docs/arithmetic.md).
void geluMul(const GatedArgs& args) {
  gatedMul(args, [](F32 g) {
    const F32 twoZ = mul(g, fma(mul(g, g), splat(kGeluCubic), splat(kGeluLinear)));
    return div(g, add(splat(1), exp(negate(twoZ))));
  });
}

void scaleRows(const ScaleArgs& args) {
  const F32 factor = splat(args.factor);
  for (uint32_t i = 0; i < args.rows; ++i) {
    const float* in = args.in.data + i * args.in.rowStride;
    float* out = args.out.data + i * args.out.rowStride;
    for (size_t j = 0; j < args.columns; j += 16) {
      const size_t n = lanesAt(j, args.columns);
      storeN(out + j, mul(loadN(in + j, n), factor), n);
    }
  }
}

void addPartials(const AddPartialsArgs& args) {
  if (args.partialCount == 0) return;
  for (uint32_t i = 0; i < args.rows; ++i) {
    float* x = args.x.data + i * args.x.rowStride;
    const float* first = args.partials.data + i * args.partials.rowStride;
    for (size_t j = 0; j < args.columns; j += 16) {
      const size_t n = lanesAt(j, args.columns);
      F32 total = loadN(first + j, n);
      for (uint32_t p = 1; p < args.partialCount; ++p) total = add(total, loadN(first + p * args.partialStride + j, n));
      storeN(x + j, add(loadN(x + j, n), total), n);
    }
  }
}

void copy(const CopyArgs& args) {
  for (uint32_t i = 0; i < args.rows; ++i) {
    const float* in = args.in.data + i * args.in.rowStride;
    float* out = args.out.data + i * args.out.rowStride;
    for (size_t j = 0; j < args.columns; j += 16) {
      const size_t n = lanesAt(j, args.columns);
      storeN(out + j, loadN(in + j, n), n);
    }
  }
}

}  // namespace
}  // namespace firn::cpu
