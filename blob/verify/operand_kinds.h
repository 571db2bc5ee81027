// What the kinds of operands (task_op_rules.h) ask of type and place.
#pragma once

#include <string>
#include <string_view>

#include "base/dtype.h"
#include "blob/layout.h"
#include "blob/task_op_rules.h"

namespace firn::blob {

/// True when an operand of this kind may have that type in a program with this header.
bool dtypeFits(Kind kind, DType type, const ProgramHeader& header);
/// The types that fit, for messages.
std::string typeText(Kind kind, const ProgramHeader& header);
/// True of weights in panels.
bool isPanels(Kind kind);
/// True when an operand of this kind may lie there.
bool placeFits(Kind kind, const OperandRecord& operand);
/// Where operands of this kind lie, for messages.
std::string_view placeText(Kind kind);

}  // namespace firn::blob
