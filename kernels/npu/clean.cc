#include "kernels/npu/clean.h"

#include <algorithm>

namespace firn::npu {

void clean(const CleanArgs& args) {
  const int64_t query = int64_t{args.row0} + args.firstToken;
  for (uint64_t i = 0; i < args.v.rows; ++i) {
    const int64_t row = static_cast<int64_t>(args.firstRow + i);
    const bool isBehind = args.window != 0 && row + int64_t{args.window} <= query;
    if (args.mask[i] == 0 || isBehind) std::fill_n(args.v.data + i * args.v.rowStride, args.v.columns, uint16_t{0});
  }
}

}  // namespace firn::npu
