#include "runtime/devices/npu/task_accesses.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "blob/npu_task_rules.h"

namespace firn::runtime {
namespace {

/// The view of an operand at `first`.
Access accessOf(const blob::OperandRecord& operand, const std::byte* first) {
  const uint64_t element = dtypeInfo(operand.dtype)->blockBytes;
  // Runs ascend, so of a transposed matrix the columns are the outer dim.
  std::array<uint32_t, 4> dims = operand.dims, strides = operand.strides;
  if (operand.rank == 2 && strides[0] < strides[1]) {
    std::swap(dims[0], dims[1]);
    std::swap(strides[0], strides[1]);
  }
  Access access = {.first = first};
  if (operand.rank == 2 && strides[0] < uint64_t{dims[1]} * strides[1]) {  // its columns overlap
    access.bytes = operand.bytes;
    return access;
  }
  uint32_t outer = operand.rank - 1U;
  access.bytes = dims[outer] * element;
  while (outer > 0 && (dims[outer - 1] == 1 || strides[outer - 1] * element == access.bytes)) {
    access.bytes *= dims[--outer];
  }
  for (uint32_t i = 0; i < outer; ++i) {
    access.counts[i] = dims[i];
    access.strides[i] = strides[i] * element;
  }
  return access;
}

/// Rows row0 + firstRow and on of each head, as far as the cache goes.
Access rowsWritten(const Task& task, const CallFrame& frame) {
  const blob::OperandRecord& cache = task.operand(1);
  const uint64_t rowBytes = cache.strides[1] * sizeof(uint16_t);
  const uint64_t row = std::min<uint64_t>(cache.dims[1], frame.row0 + task.attrs[0]);
  return {.first = task.at<const std::byte>(frame, 1) + row * rowBytes,
          .counts = {cache.dims[0], 1, 1},
          .strides = {cache.strides[0] * sizeof(uint16_t), 0, 0},
          .bytes = std::min<uint64_t>(task.operand(0).dims[0], cache.dims[1] - row) * rowBytes};
}

}  // namespace

const std::byte* Access::run(uint64_t index) const {
  const uint64_t k = index % counts[2];
  const uint64_t j = index / counts[2] % counts[1];
  const uint64_t i = index / counts[2] / counts[1];
  return first + i * strides[0] + j * strides[1] + k * strides[2];
}

const std::byte* sharedByte(const Access& a, const Access& b) {
  if (a.end() <= b.first || b.end() <= a.first) return nullptr;
  for (uint64_t i = 0, j = 0; i < a.runs() && j < b.runs();) {
    const std::byte* const ours = a.run(i);
    const std::byte* const theirs = b.run(j);
    if (ours < theirs + b.bytes && theirs < ours + a.bytes) return std::max(ours, theirs);
    if (ours < theirs) {
      ++i;
    } else {
      ++j;
    }
  }
  return nullptr;
}

void findAccesses(blob::TaskOp op, const Task& task, const CallFrame& frame, TaskAccesses& found) {
  found.count = 0;
  for (uint32_t i = 0; i < task.operandCount; ++i) {
    const blob::OperandRecord& operand = task.operand(i);
    if (operand.space == blob::Space::kWeights) continue;
    const bool isRowWrite = op == blob::TaskOp::kNpuKvWrite && i == 1;
    Access access = isRowWrite ? rowsWritten(task, frame) : accessOf(operand, task.at<const std::byte>(frame, i));
    const blob::Access use =
        blob::npuAccess(op, i, task.operandCount, {task.attrs, blob::npuTaskRule(op)->attrCount()});
    access.isRead = use != blob::Access::kWrite;
    access.isWritten = use != blob::Access::kRead;
    access.operand = i;
    if (access.bytes == 0) continue;
    const bool isMulticast = op == blob::TaskOp::kNpuCopy && i == 1 && task.attrs[0] != 0;
    if (!isMulticast) {
      found.add(access);
      continue;
    }
    for (uint64_t tiles = task.attrs[0]; tiles != 0; tiles &= tiles - 1) {
      const auto tile = static_cast<uint64_t>(std::countr_zero(tiles));
      access.first = frame.bases[kCmxBase] + tile * frame.tileBytes + operand.offset;
      found.add(access);
    }
  }
}

}  // namespace firn::runtime
