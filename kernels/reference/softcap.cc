#include "kernels/reference/softcap.h"

#include <cassert>
#include <cmath>

namespace firn::reference {

void softcap(const SoftcapArgs& args) {
  assert(args.in.columns == args.out.columns);
  for (uint64_t i = 0; i < args.out.rows; ++i) {
    const float* in = args.in.row(i);
    float* out = args.out.row(i);
    for (uint64_t j = 0; j < args.out.columns; ++j) out[j] = args.cap * std::tanh(in[j] / args.cap);
  }
}

}  // namespace firn::reference
