#include "blob/two_target_program.h"

#include <array>
#include <bit>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "blob/machine/sample_machine_for_test.h"
#include "blob/names.h"
#include "blob/sample_program.h"

namespace firn::blob {
namespace {

constexpr uint32_t kLanes = 2;

/// The records of `table` from `first` on.
template <typename Record>
std::span<const Record> from(const std::vector<Record>& table, uint32_t first, uint32_t count) {
  return std::span(table).subspan(first, count);
}

/// Copies bodies and calls of a sample of one target into a program of two.
class Source {
 public:
  /// Its weights begin at `weightsAt` of those of `program`.
  Source(Target target, DType kvType, Program& program, uint64_t weightsAt)
      : target_(target),
        contents_(sampleContents(target, SampleSize::kFull, kvType)),
        to_(program),
        weightsAt_(weightsAt) {}

  Target target() const { return target_; }
  const Contents& contents() const { return contents_; }
  const Program& program() const { return contents_.program; }

  void copyCall(const CallRecord& call) {
    const BodyRecord& body = program().bodies[call.body];
    const auto [known, isNew] = bodies_.try_emplace(call.body, 0);
    if (isNew) known->second = copyBody(body);
    std::vector<uint64_t> args;
    for (uint32_t i = 0; i < call.argCount; ++i) {
      const uint64_t arg = program().callArgs[call.firstArg + i];
      args.push_back(program().params[body.firstParam + i].space == Space::kWeights ? weightsAt_ + arg : arg);
    }
    to_.addCall(known->second, call.layer, args);
  }

  /// Calls a body that copies `rows` hidden rows from their symbol to where its layers expect them, or back.
  void callHidden(uint32_t rows, bool isIn) {
    const auto [known, isNew] = hidden_.try_emplace({rows, isIn}, 0);
    if (isNew) known->second = makeHidden(rows, isIn);
    to_.addCall(known->second, kNoLayer, {});
  }

 private:
  uint32_t beginBody(std::string_view name) { return to_.beginBody(concat(name, ".", targetName(target_))); }

  uint32_t copyBody(const BodyRecord& body) {
    const uint32_t copy = beginBody(program().strings.data() + body.name);
    for (const ParamRecord& param : from(program().params, body.firstParam, body.paramCount)) {
      to_.addParam(param.space, param.bytes);
    }
    const uint32_t lanes = contents_.ident.lanes;
    for (const SegmentRecord& segment : from(program().segments, body.firstSegment, body.segmentCount)) {
      to_.beginSegment();
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        to_.beginLane();
        if (lane >= lanes) continue;
        const LaneRange& range = program().laneRanges[segment.firstRange + lane];
        for (const TaskRecord& task : from(program().tasks, range.firstTask, range.taskCount)) copyTask(task);
      }
    }
    return copy;
  }

  void copyTask(const TaskRecord& task) {
    const auto own = from(program().operands, task.firstOperand, task.operandCount);
    std::vector<OperandRecord> operands(own.begin(), own.end());
    for (OperandRecord& operand : operands) {
      if (operand.space == Space::kWeights && operand.base == kNoBase) operand.offset += weightsAt_;
    }
    const std::vector<uint64_t>& attrs = program().attrs;
    const uint32_t afterAttrs = task.firstAttr + task.attrCount;
    const std::vector<BarrierUse> waits = usesOf(from(attrs, afterAttrs, task.waitCount));
    const std::vector<BarrierUse> signals = usesOf(from(attrs, afterAttrs + task.waitCount, task.signalCount));
    to_.addTask({.op = static_cast<TaskOp>(task.op),
                 .name = program().strings.data() + task.name,
                 .operands = operands,
                 .attrs = from(attrs, task.firstAttr, task.attrCount),
                 .waits = waits,
                 .signals = signals});
  }

  static std::vector<BarrierUse> usesOf(std::span<const uint64_t> words) {
    std::vector<BarrierUse> uses;
    for (const uint64_t word : words) uses.push_back(std::bit_cast<BarrierUse>(word));
    return uses;
  }

  TaskOp copyOp() const {
    if (target_ == Target::kNpu) return TaskOp::kNpuCopy;
    return target_ == Target::kCpu ? TaskOp::kCpuCopy : TaskOp::kRefCopy;
  }

  uint32_t makeHidden(uint32_t rows, bool isIn) {
    const uint32_t body = beginBody(concat(isIn ? "take." : "leave.", rows));
    const std::array<uint32_t, 2> dims = {rows, program().header.embed};
    // The sample's layers keep the residual stream at the start of the scratch.
    const OperandRecord stream = stridedOperand(Space::kScratch, DType::kF32, dims, 0);
    const OperandRecord symbol = symbolOperand(SymbolKind::kHidden, DType::kF32, dims);
    const std::array<OperandRecord, 2> operands = {isIn ? symbol : stream, isIn ? stream : symbol};
    const std::array<uint64_t, 1> attrs = {0};
    const bool isNpu = target_ == Target::kNpu;
    const uint32_t segments = isNpu ? machine::queueCount(machine::sampleMachine()) : 1;
    for (uint32_t i = 0; i < segments * kLanes; ++i) {
      if (i % kLanes == 0) to_.beginSegment();
      to_.beginLane();
      if (i != 0) continue;
      to_.addTask(
          {.op = copyOp(), .name = "hidden", .operands = operands, .attrs = std::span(attrs).first(isNpu ? 1 : 0)});
    }
    return body;
  }

  Target target_;
  Contents contents_;
  Program& to_;
  uint64_t weightsAt_;
  std::map<uint32_t, uint32_t> bodies_;                   ///< copies by their number in the sample
  std::map<std::pair<uint32_t, bool>, uint32_t> hidden_;  ///< by rows and direction
};

/// One part of `entry`, a record of the sample of `source`: what comes in, the part's layer, what goes out.
void addPart(Source& source, const EntryRecord& entry, uint16_t part, Program& program) {
  program.beginEntry(entry.kind, entry.rows, entry.context);
  program.entries.back().scratchBytes = entry.scratchBytes;
  program.entries.back().predictedPicoseconds = entry.predictedPicoseconds;
  const bool isCut = entry.kind != EntryKind::kHead;
  program.placeEntry(source.target(), part, isCut ? 2 : 1, concat("--place part ", part));
  program.addStandardSymbols();
  const auto calls = from(source.program().calls, entry.firstCall, entry.callCount);
  if (isCut && part == 1) source.callHidden(entry.rows, true);
  for (size_t i = 0; i < calls.size(); ++i) {
    const bool isFirstHalf = i < calls.size() / 2;  // embedding and layer 0; layer 1 and what follows
    if (!isCut || isFirstHalf == (part == 0)) source.copyCall(calls[i]);
  }
  if (isCut && part == 0) source.callHidden(entry.rows, false);
}

}  // namespace

Contents twoTargetContents(Target first, Target second) {
  const bool hasNpu = first == Target::kNpu || second == Target::kNpu;
  const DType kvType = hasNpu ? DType::kF16 : DType::kF32;
  Program program;
  Source own(first, kvType, program, 0);
  const uint64_t ownBytes = own.program().header.weightsBytes;
  Source other(second, kvType, program, ownBytes);
  program.header = own.program().header;
  program.header.weightsBytes = ownBytes + other.program().header.weightsBytes;
  for (size_t i = 0; i < own.program().entries.size(); ++i) {
    const EntryRecord& entry = own.program().entries[i];
    if (hasNpu && entry.kind == EntryKind::kBatch) continue;
    addPart(own, entry, 0, program);
    if (entry.kind != EntryKind::kHead) addPart(other, other.program().entries[i], 1, program);
  }
  Contents contents = own.contents();
  contents.ident.lanes = kLanes;
  if (contents.machine.empty()) contents.machine = other.contents().machine;
  contents.program = std::move(program);
  return contents;
}

}  // namespace firn::blob
