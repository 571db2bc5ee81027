// npu.top_k, npu.top_k_merge: the largest numbers of each row, best first; of equal ones the smaller id, NaN never
// (SHAVE). A list that is shorter than its room ends in minus infinity with the id -1. Nothing is computed, so the list
// has one right content: the kernels are those of the cpu target.
#pragma once

#include "kernels/npu/view.h"

namespace firn::npu {

struct TopKArgs {
  MatrixView<const float> in;  ///< [m, n]
  MatrixView<float> values;    ///< [m, K]
  MatrixView<int32_t> ids;     ///< [m, K]
  int32_t firstId = 0;         ///< id of column 0
};
void topK(const TopKArgs& args);

/// The best of lists with ascending ids from part to part.
struct TopKMergeArgs {
  PartsView<const float> partValues;  ///< [parts, m, K]
  PartsView<const int32_t> partIds;   ///< [parts, m, K]
  MatrixView<float> values;           ///< [m, K]; none of the parts
  MatrixView<int32_t> ids;            ///< [m, K]
};
void topKMerge(const TopKMergeArgs& args);

}  // namespace firn::npu
