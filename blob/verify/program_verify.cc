#include <string>
#include <vector>

#include "base/concat.h"
#include "blob/kv_part.h"
#include "blob/names.h"
#include "blob/verifier.h"
#include "blob/verify/entry_verify.h"
#include "blob/verify/header_verify.h"
#include "blob/verify/npu_body_verify.h"
#include "blob/verify/part_verify.h"
#include "blob/verify/table_verify.h"
#include "blob/verify/task_op_verify.h"
#include "blob/verify/task_place.h"

namespace firn::blob {

namespace {

static_assert(kMaxRecords * (sizeof(BodyNeeds) + 16) <= 16U << 20, "verifier.h says so");

// Of the attention ops of both targets that have one (task_op.h).
constexpr size_t kKeysOperand = 1;
constexpr size_t kValuesOperand = 2;

/// What the records of one program must say. Each step may count on those before it.
class ProgramCheck {
 public:
  ProgramCheck(const ProgramView& program, const Ident& ident, const ProgramSurroundings& around)
      : program_(program), header_(*program.header), ident_(ident), around_(around) {}

  Status run() {
    FIRN_RETURN_IF_ERROR(verifyTables(program_, ident_.lanes));
    FIRN_RETURN_IF_ERROR(verifyHeader(program_, around_.weightsBytes));
    FIRN_ASSIGN_OR_RETURN(bodyTargets_, verifyParts(program_, ident_.target));
    FIRN_ASSIGN_OR_RETURN(machine_, verifyMachine(program_, ident_, around_.machine));
    FIRN_RETURN_IF_ERROR(checkParams());
    FIRN_RETURN_IF_ERROR(checkBodies());
    return verifyEntries(program_, needs_, readAs_);
  }

 private:
  Status checkParams() const {
    const uint64_t partBytes = KvPart::of(header_).value_or(KvPart{}).bytes();
    for (size_t i = 0; i < program_.params.size(); ++i) {
      const ParamRecord& param = program_.params[i];
      const auto wrong = [&](auto... pieces) { return corrupt(concat("param ", i, ": ", pieces...)); };
      if (param.space != Space::kWeights && param.space != Space::kKv) {
        return wrong("space is ", static_cast<uint32_t>(param.space), ", expected weights or kv");
      }
      for (const uint8_t byte : param.reserved0) {
        if (byte != 0) return wrong("reserved bytes are not zero");
      }
      const uint64_t room = spaceBytes(header_, param.space);
      if (param.bytes > room) {
        return wrong(param.bytes, " bytes, but ", spaceName(param.space), " has ", room);
      }
      if (param.space == Space::kKv && param.bytes != partBytes) {
        return wrong(param.bytes, " bytes, expected ", partBytes, ", those of a part of the cache");
      }
    }
    return Status::ok();
  }

  Status checkBodies() {
    needs_.resize(program_.bodies.size());
    readAs_.resize(program_.params.size());
    for (size_t i = 0; i < program_.bodies.size(); ++i) {
      const BodyRecord& body = program_.bodies[i];
      FIRN_RETURN_IF_ERROR(verifyName(program_, "body", i, body.name));
      if (body.reserved0 != 0) return corrupt(concat("body ", i, ": reserved0 is not zero"));
      if (bodyTargets_[i] == Target::kNpu) {
        FIRN_RETURN_IF_ERROR(verifyNpuBody({program_, *machine_, ident_.lanes}, body, needs_[i]));
      } else {
        FIRN_RETURN_IF_ERROR(checkBody(i));
      }
    }
    return Status::ok();
  }

  /// A body of segments that lanes share.
  Status checkBody(size_t index) {
    const BodyRecord& body = program_.bodies[index];
    // Lane ranges and tasks of a body are contiguous, since every table is cut in order.
    const uint64_t firstRange = static_cast<uint64_t>(body.firstSegment) * ident_.lanes;
    const uint64_t rangeCount = static_cast<uint64_t>(body.segmentCount) * ident_.lanes;
    for (const LaneRange& range : program_.laneRanges.subspan(firstRange, rangeCount)) {
      for (uint32_t t = 0; t < range.taskCount; ++t) {
        FIRN_RETURN_IF_ERROR(
            checkTask(size_t{range.firstTask} + t, body, {header_, bodyTargets_[index]}, needs_[index]));
      }
    }
    // Of the mask the entry's context is bound and read, whatever its operands span.
    needs_[index].symbolEnd[static_cast<size_t>(SymbolKind::kMask)] = 0;
    return Status::ok();
  }

  Status checkTask(size_t index, const BodyRecord& body, const TaskContext& context, BodyNeeds& needs) {
    const TaskRecord& task = program_.tasks[index];
    FIRN_RETURN_IF_ERROR(verifyName(program_, "task", index, task.name));
    if (task.waitCount != 0 || task.signalCount != 0) {
      return corrupt(concat("task ", index, ": has ", task.waitCount, " waits and ", task.signalCount,
                            " signals, expected none: only tasks of target npu have them"));
    }
    const auto op = static_cast<TaskOp>(task.op);
    const auto operands = program_.operands.subspan(task.firstOperand, task.operandCount);
    const auto attrs = program_.attrs.subspan(task.firstAttr, task.attrCount);
    if (Status status = verifyTask(context, op, operands, attrs, needs); !status.isOk()) {
      return status.withPlace(taskPlace(program_, body, index));
    }
    FIRN_RETURN_IF_ERROR(placeOperands(program_, body, index, needs));
    if (op == TaskOp::kRefAttention || op == TaskOp::kCpuAttention) {
      readAs_[body.firstParam + operands[kKeysOperand].base].keys = true;
      readAs_[body.firstParam + operands[kValuesOperand].base].values = true;
    }
    return Status::ok();
  }

  const ProgramView& program_;
  const ProgramHeader& header_;
  const Ident& ident_;
  const ProgramSurroundings& around_;
  std::optional<machine::Machine> machine_;  ///< of the entries for the npu
  std::vector<BodyNeeds> needs_;             ///< of each body
  std::vector<ReadAs> readAs_;               ///< of each param
  std::vector<Target> bodyTargets_;          ///< of each body
};

}  // namespace

Status verifyProgram(const ProgramView& program, const Ident& ident, const ProgramSurroundings& around) {
  return ProgramCheck(program, ident, around).run();
}

}  // namespace firn::blob
