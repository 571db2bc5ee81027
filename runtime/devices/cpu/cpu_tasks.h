// The task ops of the cpu target (blob/task_op.h, kCpu*) as calls of kernels/cpu. Task::kernels is a cpu::CpuKernels.
#pragma once

#include "runtime/loaded_program.h"

namespace firn::runtime {

/// The function of `op`, or nullptr when it is no op of the cpu target.
TaskFunction findCpuTask(blob::TaskOp op);
/// What the kernels ask beyond the rules of the blob format. corrupt: a workspace that is too small.
Status checkCpuTask(blob::TaskOp op, const Task& task);

}  // namespace firn::runtime
