#include "kernels/reference/concat.h"

#include <algorithm>
#include <cassert>

namespace firn::reference {

void concat(const ConcatArgs& args) {
  assert(args.a.columns + args.b.columns == args.out.columns);
  for (uint64_t i = 0; i < args.out.rows; ++i) {
    std::copy_n(args.a.row(i), args.a.columns, args.out.row(i));
    std::copy_n(args.b.row(i), args.b.columns, args.out.row(i) + args.a.columns);
  }
}

}  // namespace firn::reference
