#include "kernels/reference/state_read.h"

#include <algorithm>
#include <cassert>

namespace firn::reference {
namespace {

void readRow(const CacheView& cache, uint64_t row, uint64_t head, float* out) {
  if (cache.type == DType::kI8) {
    const float scale = cache.scale(row, head);
    const auto* codes = cache.head<const int8_t>(row, head);
    std::transform(codes, codes + cache.headDim, out, [&](int8_t code) { return scale * static_cast<float>(code); });
  } else if (cache.type == DType::kF16) {
    const auto* halves = cache.head<const uint16_t>(row, head);
    std::transform(halves, halves + cache.headDim, out, f16ToF32);
  } else {
    std::copy_n(cache.head<const float>(row, head), cache.headDim, out);
  }
}

}  // namespace

void stateRead(const StateReadArgs& args) {
  assert(args.rows <= args.cache.rows && args.rows <= args.out.rows);
  assert(args.out.heads == args.cache.heads && args.out.headDim == args.cache.headDim);
  for (uint64_t h = 0; h < args.cache.heads; ++h) {
    for (uint64_t row = 0; row < args.rows; ++row) readRow(args.cache, row, h, args.out.head(row, h));
  }
}

}  // namespace firn::reference
