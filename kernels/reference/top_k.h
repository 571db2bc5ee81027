// top_k: the largest numbers of each row and where they are, best first; of equal ones the smaller column, NaN never.
#pragma once

#include "kernels/reference/view.h"

namespace firn::reference {

struct TopKArgs {
  ConstMatrix in;           ///< [m, n]
  Matrix values;            ///< [m, K]: the numbers; minus infinity behind the last one
  MatrixView<int32_t> ids;  ///< [m, K]: their columns; -1 behind the last one
};

void topK(const TopKArgs& args);

}  // namespace firn::reference
