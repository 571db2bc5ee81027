#include "runtime/devices/npu/npu_tasks.h"

#include <string>

#include "base/concat.h"

namespace firn::runtime {
namespace {

/// A code of 8 bits without a sign is 0..255; its zero is among them.
constexpr uint64_t kMostZero = 255;
/// Ids are i32.
constexpr uint64_t kMostIds = uint64_t{1} << 31;

Status unless(bool fine, std::string_view attribute, uint64_t found, uint64_t most) {
  return fine ? Status::ok() : corrupt(concat("attribute ", attribute, " is ", found, ", expected at most ", most));
}

}  // namespace

TaskFunction findNpuTask(blob::TaskOp op) {
  for (const auto find : {findDmaTask, findDpuTask, findShaveTask}) {
    if (const TaskFunction function = find(op); function != nullptr) return function;
  }
  return nullptr;
}

Status checkNpuTask(blob::TaskOp op, const Task& task) {
  switch (op) {
    case blob::TaskOp::kNpuMatmulGroups:
    case blob::TaskOp::kNpuEmbedGroups:
    case blob::TaskOp::kNpuExpandGroups: return unless(task.attrs[1] <= kMostZero, "zero", task.attrs[1], kMostZero);
    case blob::TaskOp::kNpuTopK: {
      const uint64_t most = kMostIds - task.operand(0).dims[1];
      return unless(task.attrs[0] <= most, "first", task.attrs[0], most);
    }
    default: return Status::ok();
  }
}

}  // namespace firn::runtime
