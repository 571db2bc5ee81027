// The checks of submit: are the values that an entry's inputs hold now ones that it may run with?
// Not the checks of bind (sizes and places), nor of load.
#pragma once

#include "base/status.h"
#include "runtime/program.h"

namespace firn::runtime {

/// The values a run of `entry` starts from. `entry` must be bound. A head without a valid symbol computes all rows.
/// out_of_range: valid not in 1..m; row0 + m beyond the T rows of the cache; row0 + valid beyond the context; the id of
/// a valid row not in 0..V-1, its position not in 0..T-1. Padding rows are not looked at.
struct RunValues {
  uint32_t valid = 0;
  uint32_t row0 = 0;
};
Result<RunValues> checkInputs(const Entry& entry, const blob::ProgramHeader& header);

}  // namespace firn::runtime
