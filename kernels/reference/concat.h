// concat: the columns of b after those of a: out[i, :] = a[i, :], b[i, :]. Bits unchanged.
#pragma once

#include "kernels/reference/view.h"

namespace firn::reference {

struct ConcatArgs {
  ConstMatrix a;  ///< [m, n1]
  ConstMatrix b;  ///< [m, n2]
  Matrix out;     ///< [m, n1 + n2]; must not overlap the inputs
};

void concat(const ConcatArgs& args);

}  // namespace firn::reference
