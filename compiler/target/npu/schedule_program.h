// A plan and its schedule as the check sees them (program_check.h).
#pragma once

#include "compiler/target/npu/plan.h"
#include "compiler/target/npu/program_check.h"
#include "compiler/target/npu/schedule.h"

namespace firn::target {

/// Memories: DDR scratch, the CMX of each tile, and each fixed buffer, which holds something before the body starts.
/// Values: the buffers.
CheckProgram programOf(const Plan& plan, const Schedule& schedule, const machine::Machine& machine);

}  // namespace firn::target
