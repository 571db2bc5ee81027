// add: out[i, j] = a[i, j] + b[i, j], in fp32.
#pragma once

#include "kernels/reference/view.h"

namespace firn::reference {

struct AddArgs {
  ConstMatrix a;  ///< [m, n]
  ConstMatrix b;  ///< [m, n]
  Matrix out;     ///< [m, n]; may be `a` or `b`
};

void add(const AddArgs& args);

}  // namespace firn::reference
