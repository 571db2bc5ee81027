// A body of the task dialect as a plan, which says what bytes each of its tasks touches, where it runs and what it
// costs, and as a schedule. Not here: what is done with them (compiler/target/npu/schedule.h, program_check.h).
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/task.h"
#include "compiler/target/npu/plan.h"
#include "compiler/target/npu/schedule.h"
#include "mlir/IR/Operation.h"

namespace firn::passes {

/// The plan of a body, and the ops that its tasks and buffers are.
struct BodyPlan {
  target::Plan plan;
  std::vector<task::RunOp> runs;        ///< of each task of the plan
  std::vector<task::BufferOp> buffers;  ///< of the first buffers of the plan; the others lie elsewhere
};

/// Tasks stand in the order in which they were lowered, be the body scheduled or not. Failure after a diagnostic that
/// begins with `error`: a task of another target, or an operand that names no memory.
mlir::FailureOr<BodyPlan> planOf(task::BodyOp body, const machine::Machine& machine, llvm::StringRef error);

/// What the ops of a scheduled body say of its schedule: addresses and queues, and waits and signals where they have
/// any. Addresses in DDR count from the start of scratch, of which `scratchBytes` is the program's.
target::Schedule scheduleOf(const BodyPlan& plan, task::BodyOp body, uint64_t scratchBytes);

}  // namespace firn::passes
