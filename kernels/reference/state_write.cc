#include "kernels/reference/state_write.h"

#include <algorithm>
#include <cassert>

#include "base/row_i8.h"

namespace firn::reference {
namespace {

void writeRow(const float* in, const CacheView& cache, uint64_t row, uint64_t head) {
  if (cache.type == DType::kI8) {
    cache.scale(row, head) = quantizeRowI8({in, cache.headDim}, {cache.head<int8_t>(row, head), cache.headDim});
  } else if (cache.type == DType::kF16) {
    std::transform(in, in + cache.headDim, cache.head<uint16_t>(row, head), f32ToF16);
  } else {
    std::copy_n(in, cache.headDim, cache.head<float>(row, head));
  }
}

}  // namespace

void stateWrite(const StateWriteArgs& args) {
  assert(args.valid <= args.in.rows && args.row0 + args.valid <= args.cache.rows);
  assert(args.in.heads == args.cache.heads && args.in.headDim == args.cache.headDim);
  for (uint64_t i = 0; i < args.valid; ++i) {
    for (uint64_t h = 0; h < args.cache.heads; ++h) writeRow(args.in.head(i, h), args.cache, args.row0 + i, h);
  }
}

}  // namespace firn::reference
