// The task ops of the npu target (blob/task_op.h, kNpu*) as calls of kernels/npu, and DMA as copies of memory. All rows
// of a task are computed, whatever is valid: the program is of fixed size.
#pragma once

#include "runtime/loaded_program.h"

namespace firn::runtime {

/// The function of `op`, or nullptr when it is no op of the npu. The task's kernels are a npu::NpuKernels.
TaskFunction findNpuTask(blob::TaskOp op);
/// The same for DMA, for DPU and for SHAVE alone.
TaskFunction findDmaTask(blob::TaskOp op);
TaskFunction findDpuTask(blob::TaskOp op);
TaskFunction findShaveTask(blob::TaskOp op);

}  // namespace firn::runtime
