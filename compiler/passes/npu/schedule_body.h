// Phase "schedule" of a body for a machine: its order, and where its buffers lie. Not here: barriers (barriers.cc), the
// other targets (compiler/passes/schedule.cc).
#pragma once

#include "blob/machine/machine.h"
#include "compiler/ir/task.h"

namespace firn::passes {

/// Gives the buffers of `body` their addresses, those in DDR from `scratchStart` on, and deals its tasks out to a
/// segment for each queue of the machine. `scratchEnd`: behind what it uses of DDR scratch. Errors: npu.schedule_c1 (no
/// plan), _c2 (memory does not suffice).
mlir::LogicalResult scheduleNpuBody(task::BodyOp body, const machine::Machine& machine, uint64_t scratchStart,
                                    uint64_t& scratchEnd);

}  // namespace firn::passes
