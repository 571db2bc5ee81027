#include "kernels/reference/select_rows.h"

#include <algorithm>
#include <cassert>

namespace firn::reference {

void selectRows(const SelectRowsArgs& args) {
  assert(args.in.columns == args.out.columns);
  for (uint64_t i = 0; i < args.out.rows; ++i) {
    const int32_t row = args.rows[i];
    if (row < 0 || static_cast<uint64_t>(row) >= args.in.rows) {
      std::fill_n(args.out.row(i), args.out.columns, 0.0F);
    } else {
      std::copy_n(args.in.row(static_cast<uint64_t>(row)), args.in.columns, args.out.row(i));
    }
  }
}

}  // namespace firn::reference
