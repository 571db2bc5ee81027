#include "kernels/reference/select_rows.h"

#include <algorithm>
#include <cassert>

namespace firn::reference {

void selectRows(const SelectRowsArgs& args) {
  assert(args.in.columns == args.out.columns);
  for (uint64_t i = 0; i < args.out.rows; ++i) {
    assert(args.rows[i] >= 0 && static_cast<uint64_t>(args.rows[i]) < args.in.rows);
    std::copy_n(args.in.row(static_cast<uint64_t>(args.rows[i])), args.in.columns, args.out.row(i));
  }
}

}  // namespace firn::reference
