#include "runtime/devices/npu/npu_tasks.h"

namespace firn::runtime {

TaskFunction findNpuTask(blob::TaskOp op) {
  for (const auto find : {findDmaTask, findDpuTask, findShaveTask}) {
    if (const TaskFunction function = find(op); function != nullptr) return function;
  }
  return nullptr;
}

}  // namespace firn::runtime
