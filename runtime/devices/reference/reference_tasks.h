// The task ops of the reference target (blob/task_op.h, kRef*) as calls of kernels/reference.
#pragma once

#include "runtime/loaded_program.h"

namespace firn::runtime {

/// The function of `op`, or nullptr when it is no op of the reference target.
TaskFunction findReferenceTask(blob::TaskOp op);

}  // namespace firn::runtime
