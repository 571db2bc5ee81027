#include "blob/npu_task_cost.h"

#include <algorithm>
#include <bit>

#include "base/dtype.h"
#include "blob/npu_task_rules.h"

namespace firn::blob {

namespace {

uint64_t elementsOf(const OperandRecord& operand) {
  uint64_t elements = 1;
  for (uint32_t i = 0; i < operand.rank; ++i) elements *= operand.dims[i];
  return elements;
}

uint64_t bytesOf(const OperandRecord& operand) { return dtypeBytes(operand.dtype, elementsOf(operand)).value_or(0); }

machine::Matmul matmulOf(TaskOp op, std::span<const OperandRecord> operands, std::span<const uint64_t> attrs) {
  const OperandRecord& out = operands[2];
  machine::Matmul matmul = {.m = operands[0].dims[0], .n = operands[1].dims[0], .k = operands[0].dims[1]};
  matmul.outBytes = dtypeInfo(out.dtype)->blockBytes;
  if (op == TaskOp::kNpuMatmul) {
    matmul.accumulates = attrs[0] != 0;
    return matmul;
  }
  matmul.weightBits = static_cast<uint32_t>(attrs[0]);
  matmul.groups = out.dims[0];
  return matmul;
}

/// The operand whose elements a kernel of SHAVE works through.
const OperandRecord& workedOn(TaskOp op, std::span<const OperandRecord> operands) {
  switch (op) {
    case TaskOp::kNpuEmbed: return operands[2];
    case TaskOp::kNpuExpand: return operands[1];
    case TaskOp::kNpuEmbedGroups:
    case TaskOp::kNpuExpandGroups: return operands.back();
    default: return operands[0];
  }
}

/// What a kernel of SHAVE counts as elements; docs/npu.md has the list.
uint64_t shaveElements(TaskOp op, std::span<const OperandRecord> operands) {
  const bool hasMins = op == TaskOp::kNpuAccumulate && operands.size() == npuTaskRule(op)->operandCount(true);
  return elementsOf(workedOn(op, operands)) * (hasMins ? 2 : 1);
}

bool isInCmx(const OperandRecord& operand) { return operand.space == Space::kCmx; }

/// Bytes of the rows that an embed reads of its tables, which stand between ids and out.
uint64_t gatheredBytes(std::span<const OperandRecord> operands) {
  uint64_t rowBytes = 0;
  for (const OperandRecord& table : operands.subspan(1, operands.size() - 2)) {
    rowBytes += dtypeBytes(table.dtype, table.dims[1]).value_or(0);
  }
  return operands[0].dims[0] * rowBytes;
}

}  // namespace

machine::Work npuTaskWork(const machine::Machine& machine, TaskOp op, std::span<const OperandRecord> operands,
                          std::span<const uint64_t> attrs) {
  const NpuTaskRule& rule = *npuTaskRule(op);
  if (rule.engine == machine::Engine::kDpu) return machine::dpuWork(machine, matmulOf(op, operands, attrs));
  if (rule.engine == machine::Engine::kDma) {
    const bool touchesDdr = !isInCmx(operands[0]) || !isInCmx(operands[1]);
    const bool isWithinDdr = !isInCmx(operands[0]) && !isInCmx(operands[1]);
    return machine::dmaWork(machine, bytesOf(operands[0]) * (isWithinDdr ? 2 : 1), touchesDdr);
  }
  constexpr size_t kPrefixLength = 4;  // "npu."
  machine::Work work = machine::shaveWork(machine, taskOpName(op).substr(kPrefixLength), shaveElements(op, operands));
  if (op != TaskOp::kNpuEmbed && op != TaskOp::kNpuEmbedGroups) return work;
  const uint64_t bytes = gatheredBytes(operands);
  const machine::Work read = machine::dmaWork(machine, bytes, true);
  const uint64_t rate = std::min<uint64_t>(machine::engineBytesPerMicrosecond(machine), machine.ddrMegabytesPerSecond);
  work.fixedPicoseconds += read.fixedPicoseconds + machine::transferPicoseconds(bytes, rate);
  work.ddrBytes = bytes;
  return work;
}

uint64_t npuTaskMacs(TaskOp op, std::span<const OperandRecord> operands) {
  if (op != TaskOp::kNpuMatmul && op != TaskOp::kNpuMatmulGroups) return 0;
  return uint64_t{operands[0].dims[0]} * operands[0].dims[1] * operands[1].dims[0];
}

uint64_t npuTaskElements(TaskOp op, std::span<const OperandRecord> operands) {
  return npuTaskRule(op)->engine == machine::Engine::kShave ? shaveElements(op, operands) : 0;
}

uint64_t npuTaskCmxBytes(const machine::Machine& machine, TaskOp op, std::span<const OperandRecord> operands,
                         std::span<const uint64_t> attrs) {
  const machine::Engine engine = npuTaskRule(op)->engine;
  if (engine == machine::Engine::kDpu) return machine::dpuWork(machine, matmulOf(op, operands, attrs)).cmxBytes;
  if (engine != machine::Engine::kDma) return 0;
  const uint64_t reads = isInCmx(operands[0]) ? 1 : 0;
  uint64_t writes = isInCmx(operands[1]) ? 1 : 0;
  if (writes != 0 && op == TaskOp::kNpuCopy) {  // the tiles of a multicast are those of the attribute and its own
    writes = static_cast<uint64_t>(std::popcount(attrs[0] | uint64_t{1} << operands[1].base));
  }
  return bytesOf(operands[0]) * (reads + writes);
}

}  // namespace firn::blob
