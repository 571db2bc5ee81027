// npu.group_sums: sums[i, g] = sum over group g of a[i, k], for the mins of accumulate.h (SHAVE). K is cut into
// sums.columns groups of one size. Order: a lane sum of each group, by addition.
#pragma once

#include "kernels/npu/view.h"

namespace firn::npu {

struct GroupSumsArgs {
  MatrixView<const uint16_t> a;  ///< [m, K]
  MatrixView<float> sums;        ///< [m, groups]
};

void groupSums(const GroupSumsArgs& args);

}  // namespace firn::npu
