// slice: columns [first, first + len) of every row: out[i, j] = in[i, first + j]. Bits unchanged.
#pragma once

#include <cstdint>

#include "kernels/reference/view.h"

namespace firn::reference {

struct SliceArgs {
  ConstMatrix in;  ///< [m, n]
  Matrix out;      ///< [m, len]; must not overlap `in`
  uint64_t first = 0;
};

void slice(const SliceArgs& args);

}  // namespace firn::reference
