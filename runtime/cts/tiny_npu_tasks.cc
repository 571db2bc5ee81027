#include "runtime/cts/tiny_npu_tasks.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "blob/extent.h"
#include "blob/npu_task_rules.h"
#include "blob/verify/operand_overlap.h"

namespace firn::runtime::cts {
namespace {

using blob::OperandRecord;
using blob::TaskOp;
using machine::Engine;

OperandRecord withExtent(OperandRecord operand) {
  operand.bytes = blob::operandBytes(operand).value_or(0);
  return operand;
}

uint64_t elementBytes(const OperandRecord& operand) { return dtypeInfo(operand.dtype)->blockBytes; }

}  // namespace

OperandRecord cmx(uint32_t tile, DType type, const Dims& dims, uint64_t offset) {
  OperandRecord operand = blob::stridedOperand(blob::Space::kCmx, type, dims, offset);
  operand.base = static_cast<uint16_t>(tile);
  return operand;
}

OperandRecord columnsOf(OperandRecord matrix, uint32_t first, uint32_t count) {
  matrix.offset += first * elementBytes(matrix);
  matrix.dims[1] = count;
  return withExtent(matrix);
}

OperandRecord rowsOf(OperandRecord matrix, uint32_t first, uint32_t count) {
  matrix.offset += uint64_t{first} * matrix.strides[0] * elementBytes(matrix);
  matrix.dims[0] = count;
  return withExtent(matrix);
}

OperandRecord partOf(OperandRecord parts, uint32_t index) {
  parts.offset += uint64_t{index} * parts.strides[0] * elementBytes(parts);
  std::shift_left(parts.dims.begin(), parts.dims.end(), 1);
  std::shift_left(parts.strides.begin(), parts.strides.end(), 1);
  parts.dims.back() = 1;
  parts.strides.back() = 0;
  --parts.rank;
  return withExtent(parts);
}

OperandRecord shaped(const OperandRecord& operand, const Dims& dims) {
  OperandRecord result = blob::stridedOperand(operand.space, operand.dtype, dims, operand.offset);
  result.base = operand.base;
  return result;
}

std::vector<NpuTaskList::Touched> NpuTaskList::touchedBy(const Item& item) {
  const auto count = static_cast<uint32_t>(item.operands.size());
  std::vector<Touched> touched;
  for (uint32_t i = 0; i < count; ++i) {
    const OperandRecord& operand = item.operands[i];
    touched.push_back({operand, blob::npuTaskRule(item.op)->operand(i, count).access != blob::Access::kRead});
    if (item.op != TaskOp::kNpuCopy || i != 1) continue;
    for (uint64_t tiles = item.attrs[0]; tiles != 0; tiles &= tiles - 1) {
      touched.push_back(touched.back());
      touched.back().operand.base = static_cast<uint16_t>(std::countr_zero(tiles));
    }
  }
  return touched;
}

bool NpuTaskList::conflict(const Item& a, const Item& b) {
  return std::ranges::any_of(a.touched, [&](const Touched& x) {
    return std::ranges::any_of(b.touched, [&](const Touched& y) {
      return (x.isWritten || y.isWritten) && blob::overlap(x.operand, y.operand);
    });
  });
}

void NpuTaskList::add(uint32_t queue, Item item) {
  item.queue = queue;
  item.number = 1 + static_cast<uint32_t>(std::ranges::count(items_, queue, &Item::queue));
  item.touched = touchedBy(item);
  items_.push_back(std::move(item));
}

void NpuTaskList::dma(TaskOp op, std::string_view name, const Operands& operands, const Attrs& attrs) {
  add(machine::queueOf(machine_, Engine::kDma, copies_++ % machine_.dmaEngines),
      {.op = op, .name = name, .operands = operands, .attrs = attrs});
}

void NpuTaskList::dpu(uint32_t tile, TaskOp op, std::string_view name, const Operands& operands, const Attrs& attrs) {
  add(machine::queueOf(machine_, Engine::kDpu, tile), {.op = op, .name = name, .operands = operands, .attrs = attrs});
}

void NpuTaskList::shave(uint32_t tile, TaskOp op, std::string_view name, const Operands& operands, const Attrs& attrs) {
  add(machine::queueOf(machine_, Engine::kShave, tile), {.op = op, .name = name, .operands = operands, .attrs = attrs});
}

std::vector<blob::BarrierUse> NpuTaskList::waitsOf(size_t index) const {
  const Item& task = items_[index];
  std::vector<blob::BarrierUse> waits;
  for (size_t i = index; i-- > 0;) {
    const Item& before = items_[i];
    const bool isKnown = std::ranges::find(waits, before.queue, &blob::BarrierUse::barrier) != waits.end();
    if (before.queue == task.queue || isKnown || !conflict(task, before)) continue;
    waits.push_back({.barrier = before.queue, .count = before.number});
  }
  return waits;
}

void NpuTaskList::addTo(blob::Program& program) const {
  for (uint32_t queue = 0; queue < machine::queueCount(machine_); ++queue) {
    program.beginSegment();
    program.beginLane();
    for (size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (item.queue != queue) continue;
      const std::vector<blob::BarrierUse> waits = waitsOf(i);
      const blob::BarrierUse signal = {.barrier = queue, .count = 0};
      program.addTask({.op = item.op,
                       .name = item.name,
                       .operands = item.operands,
                       .attrs = item.attrs,
                       .waits = waits,
                       .signals = {&signal, 1}});
    }
  }
}

}  // namespace firn::runtime::cts
