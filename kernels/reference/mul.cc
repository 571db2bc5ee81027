#include "kernels/reference/mul.h"

#include <cassert>

namespace firn::reference {

void mul(const MulArgs& args) {
  assert(args.a.columns == args.out.columns && args.b.columns == args.out.columns);
  for (uint64_t i = 0; i < args.out.rows; ++i) {
    const float* a = args.a.row(i);
    const float* b = args.b.row(i);
    float* out = args.out.row(i);
    for (uint64_t j = 0; j < args.out.columns; ++j) out[j] = a[j] * b[j];
  }
}

}  // namespace firn::reference
