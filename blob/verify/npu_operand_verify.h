// One operand of a task of the npu by itself: its type, where it lies, its strides and what they span.
// Not here: what ties the operands of a task together (npu_task_verify.h).
#pragma once

#include <cstdint>

#include "base/status.h"
#include "blob/layout.h"
#include "blob/machine/machine.h"
#include "blob/npu_task_rules.h"

namespace firn::blob {

/// After it, the operand has the rank and the type that `rule` wants, no element of it lies on another one, `bytes` is
/// what dims and strides span, and where it lies in CMX it ends there. `queue` is that of its task.
Status verifyNpuOperand(const machine::Machine& machine, uint32_t queue, const NpuOperandRule& rule,
                        const OperandRecord& operand);

}  // namespace firn::blob
