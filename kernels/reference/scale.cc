#include "kernels/reference/scale.h"

#include <cassert>

namespace firn::reference {

void scale(const ScaleArgs& args) {
  assert(args.in.columns == args.out.columns);
  for (uint64_t i = 0; i < args.out.rows; ++i) {
    const float* in = args.in.row(i);
    float* out = args.out.row(i);
    for (uint64_t j = 0; j < args.out.columns; ++j) out[j] = in[j] * args.factor;
  }
}

}  // namespace firn::reference
