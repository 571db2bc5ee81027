#include "kernels/npu/clean.h"

#include <algorithm>

namespace firn::npu {

void clean(const CleanArgs& args) {
  for (uint64_t i = 0; i < args.v.rows; ++i) {
    if (args.mask[i] == 0) std::fill_n(args.v.data + i * args.v.rowStride, args.v.columns, uint16_t{0});
  }
}

}  // namespace firn::npu
