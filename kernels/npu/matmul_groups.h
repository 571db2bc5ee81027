// npu.matmul_groups: one sum for each group of k, of f16 activations and integer codes (DPU):
//   out[g, i, n] = sum over the k of group g of a[i, k] * (code[n, k] - zero)
// K is cut into out.parts groups of one size. Codes of 4 bits: element 2j in the low nibble of byte j of a row, element
// 2j + 1 in the high one; a group has an even number of them. Codes of 8 bits: signed where zero is 0, else unsigned.
//
// Order: a lane sum of each group, k counted from its start (as in matmul.h). Products are exact in f32: 11 bits by at
// most 9.
#pragma once

#include "kernels/npu/view.h"

namespace firn::npu {

struct MatmulGroupsArgs {
  MatrixView<const uint16_t> a;     ///< [m, K]
  MatrixView<const uint8_t> codes;  ///< [n, K * bits / 8]
  PartsView<float> out;             ///< [groups, m, n]; overlaps no input
  uint32_t bits = 4;                ///< 4 or 8
  int32_t zero = 0;                 ///< 0 .. 255
};

void matmulGroups(const MatmulGroupsArgs& args);

}  // namespace firn::npu
