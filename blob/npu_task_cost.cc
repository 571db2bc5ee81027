#include "blob/npu_task_cost.h"

#include <algorithm>

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

/// The operand whose elements a kernel of SHAVE works through; docs/npu.md has the list.
const OperandRecord& workedOn(TaskOp op, std::span<const OperandRecord> operands) {
  switch (op) {
    case TaskOp::kNpuEmbed: return operands[2];
    case TaskOp::kNpuExpand: return operands[1];
    case TaskOp::kNpuEmbedGroups:
    case TaskOp::kNpuExpandGroups: return operands.back();
    default: return operands[0];
  }
}

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
    const bool touchesDdr = operands[0].space != Space::kCmx || operands[1].space != Space::kCmx;
    const bool isWithinDdr = operands[0].space != Space::kCmx && operands[1].space != Space::kCmx;
    return machine::dmaWork(machine, bytesOf(operands[0]) * (isWithinDdr ? 2 : 1), touchesDdr);
  }
  constexpr size_t kPrefixLength = 4;  // "npu."
  machine::Work work =
      machine::shaveWork(machine, taskOpName(op).substr(kPrefixLength), elementsOf(workedOn(op, operands)));
  if (op != TaskOp::kNpuEmbed && op != TaskOp::kNpuEmbedGroups) return work;
  const uint64_t bytes = gatheredBytes(operands);
  const machine::Work read = machine::dmaWork(machine, bytes, true);
  const uint64_t rate = std::min<uint64_t>(machine::engineBytesPerMicrosecond(machine), machine.ddrMegabytesPerSecond);
  work.fixedPicoseconds += read.fixedPicoseconds + machine::transferPicoseconds(bytes, rate);
  return work;
}

uint64_t npuTaskMacs(TaskOp op, std::span<const OperandRecord> operands) {
  if (op != TaskOp::kNpuMatmul && op != TaskOp::kNpuMatmulGroups) return 0;
  return uint64_t{operands[0].dims[0]} * operands[0].dims[1] * operands[1].dims[0];
}

uint64_t npuTaskElements(TaskOp op, std::span<const OperandRecord> operands) {
  return npuTaskRule(op)->engine == machine::Engine::kShave ? elementsOf(workedOn(op, operands)) : 0;
}

}  // namespace firn::blob
