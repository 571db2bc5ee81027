#include "kernels/reference/state_write.h"

#include <algorithm>
#include <cassert>

namespace firn::reference {

void stateWrite(const StateWriteArgs& args) {
  assert(args.valid <= args.in.rows && args.row0 + args.valid <= args.cache.rows);
  assert(args.in.heads == args.cache.heads && args.in.headDim == args.cache.headDim);
  for (uint64_t i = 0; i < args.valid; ++i) {
    for (uint64_t h = 0; h < args.cache.heads; ++h) {
      std::copy_n(args.in.head(i, h), args.in.headDim, args.cache.head(args.row0 + i, h));
    }
  }
}

}  // namespace firn::reference
