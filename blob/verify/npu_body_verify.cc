#include "blob/verify/npu_body_verify.h"

#include <algorithm>

#include "base/concat.h"
#include "blob/verifier.h"
#include "blob/verify/npu_task_verify.h"
#include "blob/verify/table_verify.h"
#include "blob/verify/task_place.h"

namespace firn::blob {

namespace {

Status checkTask(const NpuProgram& npu, const BodyRecord& body, uint32_t queue, size_t index, BodyNeeds& needs) {
  const ProgramView& program = npu.program;
  const TaskRecord& task = program.tasks[index];
  FIRN_RETURN_IF_ERROR(verifyName(program, "task", index, task.name));
  const size_t afterAttrs = size_t{task.firstAttr} + task.attrCount;
  const NpuTask checked = {.op = static_cast<TaskOp>(task.op),
                           .operands = program.operands.subspan(task.firstOperand, task.operandCount),
                           .attrs = program.attrs.subspan(task.firstAttr, task.attrCount),
                           .waits = program.barrierUses(afterAttrs, task.waitCount),
                           .signals = program.barrierUses(afterAttrs + task.waitCount, task.signalCount)};
  if (Status status = verifyNpuTask({*program.header, npu.machine, queue}, checked, needs); !status.isOk()) {
    return status.withPlace(taskPlace(program, body, index));
  }
  return placeOperands(program, body, index, needs);
}

}  // namespace

Result<std::optional<machine::Machine>> verifyMachine(const ProgramView& program, const Ident& ident,
                                                      std::string_view text) {
  const Hash128 hash = machineHashOf(text);
  if (ident.machineHash != hash) {
    return corrupt(concat("note: machineHash is ", toHex(ident.machineHash), ", expected ", toHex(hash),
                          text.empty() ? concat(": there is no section ", kMachineSection)
                                       : concat(", that of section ", kMachineSection)));
  }
  const bool isWanted =
      std::ranges::any_of(program.entries, [](const EntryRecord& e) { return e.target == Target::kNpu; });
  if (isWanted == text.empty()) {
    return corrupt(
        concat("section ", kMachineSection,
               isWanted ? " is missing: entries are for the npu" : " is there, but no entry is for the npu"));
  }
  if (!isWanted) return std::optional<machine::Machine>();
  // As of the card: the parser takes it as the end of its input, and others would read on.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return corrupt(concat("section ", kMachineSection, ": byte ", zero, " is zero, expected JSON up to the end"));
  }
  Result<machine::Machine> machine = machine::parseMachine(text, concat("section ", kMachineSection));
  if (machine.isOk()) return std::optional(*std::move(machine));
  if (machine.status().code() == Code::kInvalidArgument) return corrupt(machine.status().message());
  return machine.status();
}

Status verifyNpuBody(const NpuProgram& npu, const BodyRecord& body, BodyNeeds& needs) {
  const ProgramView& program = npu.program;
  const uint32_t queues = machine::queueCount(npu.machine);
  if (body.segmentCount != queues) {
    return corrupt(concat("body ", program.string(body.name), ": ", body.segmentCount, " segments, expected ", queues,
                          ", one for each queue of machine ", npu.machine.name));
  }
  for (uint32_t queue = 0; queue < queues; ++queue) {
    const uint64_t firstRange = (uint64_t{body.firstSegment} + queue) * npu.lanes;
    const auto ranges = program.laneRanges.subspan(firstRange, npu.lanes);
    for (uint32_t lane = 1; lane < npu.lanes; ++lane) {
      if (ranges[lane].taskCount == 0) continue;
      return corrupt(concat("body ", program.string(body.name), ": queue ", machine::queueName(npu.machine, queue),
                            " has ", ranges[lane].taskCount, " tasks in lane ", lane, ", expected all in lane 0"));
    }
    for (uint32_t t = 0; t < ranges[0].taskCount; ++t) {
      FIRN_RETURN_IF_ERROR(checkTask(npu, body, queue, size_t{ranges[0].firstTask} + t, needs));
    }
  }
  return Status::ok();
}

}  // namespace firn::blob
