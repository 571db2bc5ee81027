// copy: out = x, bits unchanged. Strides may differ, so it also gathers or spreads rows.
#pragma once

#include "kernels/reference/view.h"

namespace firn::reference {

struct CopyArgs {
  ConstMatrix in;  ///< [m, n]
  Matrix out;      ///< [m, n]; may be `in`
};

void copy(const CopyArgs& args);

}  // namespace firn::reference
