// select_rows: out[i, :] = in[rows[i], :]. Bits unchanged. Row numbers are data that nothing checks before the run: one
// outside [0, m) gives a row of zeros. Used to run the head on the rows that are asked for.
#pragma once

#include <cstdint>

#include "kernels/reference/view.h"

namespace firn::reference {

struct SelectRowsArgs {
  ConstMatrix in;                 ///< [m, n]
  const int32_t* rows = nullptr;  ///< out.rows values
  Matrix out;                     ///< [k, n]; must not overlap `in`
};

void selectRows(const SelectRowsArgs& args);

}  // namespace firn::reference
