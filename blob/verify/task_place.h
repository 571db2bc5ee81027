// Where the tasks and operands of a program are: for messages, and inside of what an operand must end.
// Not here: what an op wants of its operands (task_op_verify.h, npu_task_verify.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "blob/program_view.h"
#include "blob/verify/task_op_verify.h"

namespace firn::blob {

/// "body block.16, task 3 (cpu.rope, attn_q)".
std::string taskPlace(const ProgramView& program, const BodyRecord& body, size_t task);

/// Bytes of the weights or the cache; 0 for other spaces.
uint64_t spaceBytes(const ProgramHeader& header, Space space);

/// Whether each operand of a task of `body` ends inside what it lies in; what depends on the entry is noted in `needs`.
/// The task has been checked by itself.
Status placeOperands(const ProgramView& program, const BodyRecord& body, size_t task, BodyNeeds& needs);

}  // namespace firn::blob
