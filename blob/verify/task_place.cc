#include "blob/verify/task_place.h"

#include <algorithm>

#include "base/concat.h"
#include "base/dtype.h"
#include "blob/extent.h"

namespace firn::blob {

namespace {

uint64_t alignmentOf(DType type) {
  const DTypeInfo* info = dtypeInfo(type);
  if (info == nullptr) return 1;
  return info->isQuantized ? 2 : info->blockBytes;  // blocks hold f16 scales
}

/// What an op takes from a symbol names the kind that it must be (operand_kinds.h, npu_operand_verify.h).
void noteSymbol(const OperandRecord& operand, uint64_t end, BodyNeeds& needs) {
  needs.symbolsUsed |= 1U << operand.base;
  needs.symbolEnd[operand.base] = std::max(needs.symbolEnd[operand.base], end);
}

Status placeInSpace(const ProgramView& program, const BodyRecord& body, const OperandRecord& operand, uint64_t end) {
  uint64_t limit = spaceBytes(*program.header, operand.space);
  if (operand.base != kNoBase) {
    if (operand.base >= body.paramCount) {
      return corrupt(concat("base is param ", operand.base, ", the body has ", body.paramCount));
    }
    const ParamRecord& param = program.params[body.firstParam + operand.base];
    if (param.space != operand.space) return corrupt(concat("param ", operand.base, " points into another space"));
    limit = param.bytes;
  }
  if (end <= limit) return Status::ok();
  return corrupt(
      concat("ends at byte ", end, " of its ", operand.base == kNoBase ? "space" : "param", ", which has ", limit));
}

Status placeOperand(const ProgramView& program, const BodyRecord& body, const OperandRecord& operand,
                    BodyNeeds& needs) {
  if (operand.reserved0 != 0) return corrupt("reserved0 is not zero");
  const auto end = checkedAdd(operand.offset, operand.bytes);
  if (!end) return corrupt(concat("offset ", operand.offset, " plus bytes ", operand.bytes, " overflows"));
  if (operand.offset % alignmentOf(operand.dtype) != 0) {
    return corrupt(concat("offset ", operand.offset, " is no multiple of ", alignmentOf(operand.dtype)));
  }
  switch (operand.space) {
    case Space::kScratch:
      if (operand.base != kNoBase) return corrupt(concat("base is ", operand.base, ", scratch has none"));
      needs.scratchEnd = std::max(needs.scratchEnd, *end);
      return Status::ok();
    case Space::kSymbol: noteSymbol(operand, *end, needs); return Status::ok();
    case Space::kCmx: return Status::ok();  // npu_operand_verify.h has seen to it
    case Space::kWeights:
    case Space::kKv: break;
  }
  return placeInSpace(program, body, operand, *end);
}

}  // namespace

std::string taskPlace(const ProgramView& program, const BodyRecord& body, size_t task) {
  const TaskRecord& record = program.tasks[task];
  return concat("body ", program.string(body.name), ", task ", task, " (", taskOpName(static_cast<TaskOp>(record.op)),
                ", ", program.string(record.name), ")");
}

uint64_t spaceBytes(const ProgramHeader& header, Space space) {
  switch (space) {
    case Space::kWeights: return header.weightsBytes;
    case Space::kKv: return header.kvBytes;
    default: return 0;
  }
}

Status placeOperands(const ProgramView& program, const BodyRecord& body, size_t task, BodyNeeds& needs) {
  const TaskRecord& record = program.tasks[task];
  const auto operands = program.operands.subspan(record.firstOperand, record.operandCount);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (Status status = placeOperand(program, body, operands[i], needs); !status.isOk()) {
      return status.withPlace(concat(taskPlace(program, body, task), " operand ", i));
    }
  }
  return Status::ok();
}

}  // namespace firn::blob
