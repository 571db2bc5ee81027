// DPU: matmuls.
#include "runtime/devices/npu/npu_tasks.h"
#include "runtime/devices/npu/npu_views.h"

namespace firn::runtime {
namespace {

void runMatmul(const Task& task, const CallFrame& frame) {
  const blob::OperandRecord& w = task.operand(1);
  kernelsOf(task).matmul(
      {.a = matrix<const uint16_t>(task, frame, 0),
       .w = {.data = task.at<const uint16_t>(frame, 1), .outputStride = w.strides[0], .inputStride = w.strides[1]},
       .out = floats(task, frame, 2),
       .accumulate = task.attrs[0] != 0});
}

void runMatmulGroups(const Task& task, const CallFrame& frame) {
  kernelsOf(task).matmulGroups({.a = matrix<const uint16_t>(task, frame, 0),
                                .codes = matrix<const uint8_t>(task, frame, 1),
                                .out = parts<float>(task, frame, 2),
                                .bits = task.attrInt(0),
                                .zero = static_cast<int32_t>(task.attrInt(1))});
}

}  // namespace

TaskFunction findDpuTask(blob::TaskOp op) {
  switch (op) {
    case blob::TaskOp::kNpuMatmul: return runMatmul;
    case blob::TaskOp::kNpuMatmulGroups: return runMatmulGroups;
    default: return nullptr;
  }
}

}  // namespace firn::runtime
