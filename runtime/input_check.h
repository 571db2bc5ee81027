// The checks of submit: are the values that an entry's inputs hold now ones that it may run with?
// Not the checks of bind (sizes and places), nor of load.
#pragma once

#include <array>

#include "base/status.h"
#include "runtime/loaded_program.h"

namespace firn::runtime {

/// What a run needs to know of its inputs.
struct RunValues {
  uint32_t valid = 0;                                 ///< rows to compute, 1..m; all m of a head
  uint32_t row0 = 0;                                  ///< cache row of the first; 0 for a head
  std::array<uint32_t, blob::kMaxBatchRows> row0s{};  ///< batch: of each valid row
};

/// The values a run of `entry` starts from. `entry` must be bound.
/// out_of_range: valid not in 1..m; row0 not in 0..c-m, that is, a chunk whose m rows do not all lie inside the context
/// of c; of a batch, a valid row whose row0 is not in 0..c-1; the id of a valid row not in 0..V-1, its position not in
/// 0..T-1.
/// invalid_argument: a valid row of a batch without a cache. Padding rows are not looked at.
Result<RunValues> checkInputs(const Entry& entry, const blob::ProgramHeader& header);

}  // namespace firn::runtime
