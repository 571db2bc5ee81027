// npu.rms_norm: out[i, j] = in[i, j] / sqrt(mean of in[i, :]^2 + epsilon) * weight[j] (SHAVE).
// Order: the squares as a lane sum by fma; mean = sum / n; r = 1 / sqrt(mean + epsilon); (in * r) * weight. Each step
// is rounded to f32: the arithmetic of cpu.rms_norm, then the type of out.
#pragma once

#include "kernels/npu/view.h"

namespace firn::npu {

struct RmsNormArgs {
  MatrixView<const float> in;     ///< [m, n]
  const float* weight = nullptr;  ///< n values
  FloatView out;                  ///< [m, n]; may be `in` where it is f32
  float epsilon = 0;
};

void rmsNorm(const RmsNormArgs& args);

}  // namespace firn::npu
