// state_write: appends rows to a K or V cache: cache[h, row0 + i, :] = in[i, h, :]. Nothing else of the cache is
// touched. Its counterpart state_read is a view of the same memory and has no function.
#pragma once

#include <cstdint>

#include "kernels/reference/view.h"

namespace firn::reference {

struct StateWriteArgs {
  ConstHeads in;      ///< [m, heads, d]; rows [0, valid) are written
  Heads cache;        ///< rows = T, heads, d
  uint64_t row0 = 0;  ///< row0 + valid <= T
  uint64_t valid = 0;
};

void stateWrite(const StateWriteArgs& args);

}  // namespace firn::reference
