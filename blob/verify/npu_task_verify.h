// The rules of every task op of the npu: operands, types, dims, where they lie, barriers. As task_op_verify.h for the
// other targets. Not here: whether barriers order the tasks rightly (the compiler's check; a device in checked mode).
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "blob/layout.h"
#include "blob/machine/machine.h"
#include "blob/task_op.h"
#include "blob/verify/task_op_verify.h"

namespace firn::blob {

/// What is known when a task of a queue is checked.
struct NpuContext {
  const ProgramHeader& header;
  const machine::Machine& machine;
  uint32_t queue = 0;
};

/// One task with all that stands in its record.
struct NpuTask {
  TaskOp op{};
  std::span<const OperandRecord> operands;
  std::span<const uint64_t> attrs;
  std::span<const BarrierUse> waits;
  std::span<const BarrierUse> signals;
};

/// Checks one task and adds what it needs to `needs`. The message names operand or attribute, found and expected; the
/// caller adds which task. Whether operands end inside scratch, weights and symbols is the caller's to check.
Status verifyNpuTask(const NpuContext& context, const NpuTask& task, BodyNeeds& needs);

}  // namespace firn::blob
