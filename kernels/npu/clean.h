// npu.clean: rows of V that no query of the block sees become 0, since 0 * NaN would be NaN in S * V (SHAVE): those
// that the mask takes away, and those behind the window of the first query, and so of all later ones.
#pragma once

#include "kernels/npu/view.h"

namespace firn::npu {

struct CleanArgs {
  MatrixView<uint16_t> v;         ///< [r, d], in place
  const uint8_t* mask = nullptr;  ///< r values
  int32_t row0 = 0;               ///< cache row of token 0
  uint32_t firstRow = 0;          ///< cache row of v's row 0
  uint32_t firstToken = 0;        ///< of the first query
  uint32_t window = 0;            ///< rows that a query sees, its own included; 0: all
};

void clean(const CleanArgs& args);

}  // namespace firn::npu
