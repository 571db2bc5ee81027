// select_rows: out[i, :] = in[rows[i], :]. Bits unchanged. Used to run the head on the rows that are asked for.
#pragma once

#include <cstdint>

#include "kernels/reference/view.h"

namespace firn::reference {

struct SelectRowsArgs {
  ConstMatrix in;                 ///< [m, n]
  const int32_t* rows = nullptr;  ///< out.rows values, each in [0, m)
  Matrix out;                     ///< [k, n]; must not overlap `in`
};

void selectRows(const SelectRowsArgs& args);

}  // namespace firn::reference
