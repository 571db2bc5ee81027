// npu.expand: raw rows of any weight type as f16 (SHAVE). The value of a weight in f32 is that of kernels/quant; it is
// rounded to nearest even. What is finite stays finite: beyond the largest f16 it becomes that number, 65504, with its
// sign (one weight that is off is better than a row of NaN). Infinities and NaN of the source stay.
#pragma once

#include "kernels/npu/view.h"

namespace firn::npu {

struct ExpandArgs {
  RawView in;                ///< [n, K]
  MatrixView<uint16_t> out;  ///< [n, K]; does not overlap
};

void expand(const ExpandArgs& args);

}  // namespace firn::npu
