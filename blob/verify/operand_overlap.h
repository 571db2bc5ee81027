// Which bytes the operands of one task share.
#pragma once

#include "blob/layout.h"

namespace firn::blob {

/// True when both operands are the same elements in the same order.
bool isSameView(const OperandRecord& a, const OperandRecord& b);

/// True when an element of one may be an element of the other; false for columns of one matrix that interleave. Both
/// have an extent (operandBytes).
bool overlap(const OperandRecord& a, const OperandRecord& b);

}  // namespace firn::blob
