// Bodies of target npu: from tasks in an order in which they could run one by one to queues, addresses and barriers.
// The work is done without MLIR (compiler/target/npu/schedule.h); this is the way there and back.
#pragma once

#include "blob/machine/machine.h"
#include "compiler/ir/task.h"
#include "mlir/IR/Operation.h"

namespace firn::passes {

/// Schedules `body`, whose scratch may begin at `scratchStart`; `scratchEnd` is where it ends. Fails with a diagnostic.
mlir::LogicalResult scheduleNpuBody(task::BodyOp body, const machine::Machine& machine, uint64_t scratchStart,
                                    uint64_t& scratchEnd);

}  // namespace firn::passes
