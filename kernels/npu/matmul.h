// npu.matmul: out[i, n] = sum over k of a[i, k] * w[n, k], f16 operands, f32 sums (DPU).
//
// Order: a lane sum (docs/arithmetic.md). 16 accumulators start at +0, the term of k is added to accumulator k mod 16
// in ascending k, and the accumulators are folded in a fixed tree (8, 4, 2, 1 apart). A product of two f16 is exact in
// f32, so one roundoff a term, whether an instruction set fuses multiply and add or not. The order does not depend on
// the layout of w, nor on the other rows and columns: each output is that of its row and its column alone.
#pragma once

#include "kernels/npu/view.h"

namespace firn::npu {

/// w[n, k] is data[n * outputStride + k * inputStride]; one of the two strides is 1.
struct MatmulWeights {
  const uint16_t* data = nullptr;
  uint64_t outputStride = 0;
  uint64_t inputStride = 1;
};

struct MatmulArgs {
  MatrixView<const uint16_t> a;  ///< [m, K]
  MatmulWeights w;               ///< [n, K]
  FloatView out;                 ///< [m, n]; overlaps no input
  bool accumulate = false;       ///< out = out + sum, f32 only
};

void matmul(const MatmulArgs& args);

}  // namespace firn::npu
