// DMA: copies of memory.
#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/devices/npu/npu_tasks.h"

namespace firn::runtime {
namespace {

/// A copy as runs of contiguous bytes, in up to three dims around one run.
struct Runs {
  std::array<uint64_t, 3> counts = {1, 1, 1};
  std::array<uint64_t, 3> from = {};  ///< bytes from run to run
  std::array<uint64_t, 3> to = {};
  uint64_t bytes = 0;  ///< of one run
};

/// The runs of a copy between two views of the same dims; dims without a gap in either are joined.
Runs runsOf(const blob::OperandRecord& from, const blob::OperandRecord& to) {
  const uint64_t element = dtypeInfo(from.dtype)->blockBytes;
  Runs runs;
  uint32_t outer = from.rank - 1U;
  runs.bytes = from.dims[outer] * element;
  const auto joins = [&](uint32_t dim) {
    if (from.dims[dim] == 1) return true;
    return from.strides[dim] * element == runs.bytes && to.strides[dim] * element == runs.bytes;
  };
  while (outer > 0 && joins(outer - 1)) runs.bytes *= from.dims[--outer];
  for (uint32_t i = 0; i < outer; ++i) {
    runs.counts[i] = from.dims[i];
    runs.from[i] = from.strides[i] * element;
    runs.to[i] = to.strides[i] * element;
  }
  return runs;
}

void copyRuns(const Runs& runs, const std::byte* from, std::byte* to) {
  for (uint64_t i = 0; i < runs.counts[0]; ++i) {
    for (uint64_t j = 0; j < runs.counts[1]; ++j) {
      const std::byte* source = from + i * runs.from[0] + j * runs.from[1];
      std::byte* sink = to + i * runs.to[0] + j * runs.to[1];
      for (uint64_t k = 0; k < runs.counts[2]; ++k) {
        std::memcpy(sink + k * runs.to[2], source + k * runs.from[2], runs.bytes);
      }
    }
  }
}

void runCopy(const Task& task, const CallFrame& frame) {
  const Runs runs = runsOf(task.operand(0), task.operand(1));
  const auto* from = task.at<const std::byte>(frame, 0);
  if (task.attrs[0] == 0) return copyRuns(runs, from, task.at<std::byte>(frame, 1));
  for (uint64_t tiles = task.attrs[0]; tiles != 0; tiles &= tiles - 1) {
    const auto tile = static_cast<uint64_t>(std::countr_zero(tiles));
    copyRuns(runs, from, frame.bases[kCmxBase] + tile * frame.tileBytes + task.operand(1).offset);
  }
}

void runKvWrite(const Task& task, const CallFrame& frame) {
  const blob::OperandRecord& in = task.operand(0);
  const blob::OperandRecord& cache = task.operand(1);
  const uint64_t row = frame.row0 + task.attrs[0];
  const uint64_t room = cache.dims[1] - std::min<uint64_t>(cache.dims[1], row);
  const uint64_t rows = std::min<uint64_t>(in.dims[0], room);
  const auto* const from = task.at<const uint16_t>(frame, 0);
  auto* const to = task.at<uint16_t>(frame, 1);
  for (uint64_t head = 0; head < in.dims[1]; ++head) {
    for (uint64_t i = 0; i < rows; ++i) {
      std::memcpy(to + head * cache.strides[0] + (row + i) * cache.strides[1],
                  from + i * in.strides[0] + head * in.strides[1], in.dims[2] * sizeof(uint16_t));
    }
  }
}

}  // namespace

TaskFunction findDmaTask(blob::TaskOp op) {
  switch (op) {
    case blob::TaskOp::kNpuCopy: return runCopy;
    case blob::TaskOp::kNpuKvWrite: return runKvWrite;
    default: return nullptr;
  }
}

}  // namespace firn::runtime
