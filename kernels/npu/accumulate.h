// npu.accumulate: the groups of matmul_groups with their scales (SHAVE):
//   out[i, n] (+)= sum over g of (scales[n, g] * partials[g, i, n] + mins[n, g] * sums[i, g])
// Order: ascending g, from out or +0. Each product and each sum is rounded; the two products of a group are added to
// each other first, since they cancel most.
#pragma once

#include "kernels/npu/view.h"

namespace firn::npu {

struct AccumulateArgs {
  PartsView<const float> partials;    ///< [groups, m, n]
  MatrixView<const uint16_t> scales;  ///< [n, groups]
  MatrixView<const uint16_t> mins;    ///< [n, groups]; data nullptr: none
  MatrixView<const float> sums;       ///< [m, groups], with mins
  MatrixView<float> out;              ///< [m, n]; overlaps no input
  bool accumulate = false;            ///< starts from out; else from 0
};

void accumulate(const AccumulateArgs& args);

}  // namespace firn::npu
