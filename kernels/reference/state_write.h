// state_write: appends rows to a K or V cache: cache[h, row0 + i, :] = in[i, h, :], rounded to the type of the cache
// (f16: to nearest even; i8: base/row_i8.h, one scale for each row of a head). Nothing else of the cache is touched.
#pragma once

#include <cstdint>

#include "kernels/reference/view.h"

namespace firn::reference {

struct StateWriteArgs {
  ConstHeads in;      ///< [m, heads, d]; rows [0, valid) are written
  CacheView cache;    ///< rows = T, heads, d
  uint64_t row0 = 0;  ///< row0 + valid <= T
  uint64_t valid = 0;
};

void stateWrite(const StateWriteArgs& args);

}  // namespace firn::reference
