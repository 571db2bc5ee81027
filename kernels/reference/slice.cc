#include "kernels/reference/slice.h"

#include <algorithm>
#include <cassert>

namespace firn::reference {

void slice(const SliceArgs& args) {
  assert(args.first + args.out.columns <= args.in.columns);
  for (uint64_t i = 0; i < args.out.rows; ++i) {
    std::copy_n(args.in.row(i) + args.first, args.out.columns, args.out.row(i));
  }
}

}  // namespace firn::reference
