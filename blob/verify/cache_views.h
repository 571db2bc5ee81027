// Which bytes of the KV cache the views of one task are: whole heads of one part, found in the layout of kv_part.h.
// Not here: their dims and strides (task_op_verify.h), which part a call gives (program_verify.cc).
#pragma once

#include <span>

#include "base/status.h"
#include "blob/layout.h"

namespace firn::blob {

/// Checks the views of one task: `rows` are rows of K, V or both, `scales` those of each, in the same order, or none.
/// Dims and strides have been checked. Each view starts at a head of the part that its param names and ends inside its
/// rows or scales; rows have their own scales; all are of the same heads.
Status verifyCacheViews(const ProgramHeader& header, std::span<const OperandRecord* const> rows,
                        std::span<const OperandRecord* const> scales);

}  // namespace firn::blob
