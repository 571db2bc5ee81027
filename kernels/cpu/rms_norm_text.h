// rms_norm. Kernel text: included after a vector header.
#pragma once

#include "kernels/cpu/elementwise_text.h"
#include "kernels/cpu/kernels.h"

namespace firn::cpu {
namespace {

void rmsNorm(const RmsNormArgs& args) {
  for (uint32_t i = 0; i < args.rows; ++i) {
    const float* in = args.in.data + i * args.in.rowStride;
    float* out = args.out.data + i * args.out.rowStride;
    F32 squares = splat(0);
    for (size_t j = 0; j < args.columns; j += 16) {
      const F32 x = loadN(in + j, lanesAt(j, args.columns));
      squares = fma(x, x, squares);
    }
    const float mean = sum(squares) / static_cast<float>(args.columns);
    const F32 factor = splat(1.0F / __builtin_sqrtf(mean + args.epsilon));
    for (size_t j = 0; j < args.columns; j += 16) {
      const size_t n = lanesAt(j, args.columns);
      storeN(out + j, mul(mul(loadN(in + j, n), factor), loadN(args.weight + j, n)), n);
    }
  }
}

}  // namespace
}  // namespace firn::cpu
