// npu.rms_norm. Kernel text: included after a vector header.
#pragma once

#include "kernels/npu/elementwise_text.h"
#include "kernels/npu/rms_norm.h"

namespace firn::npu {
namespace {

void rmsNormKernel(const RmsNormArgs& args) {
  const size_t columns = args.in.columns;
  for (size_t i = 0; i < args.out.rows; ++i) {
    const float* in = rowOf(args.in, i);
    F32 squares = splat(0);
    for (size_t j = 0; j < columns; j += 16) {
      const F32 x = loadN(in + j, lanesAt(j, columns));
      squares = fma(x, x, squares);
    }
    const float mean = sum(squares) / static_cast<float>(columns);
    const F32 factor = splat(1.0F / __builtin_sqrtf(mean + args.epsilon));
    for (size_t j = 0; j < columns; j += 16) {
      const size_t n = lanesAt(j, columns);
      storeFloats(args.out, i, j, mul(mul(loadN(in + j, n), factor), loadN(args.weight + j, n)));
    }
  }
}

}  // namespace
}  // namespace firn::npu
