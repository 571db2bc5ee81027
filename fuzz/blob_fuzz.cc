// Arbitrary bytes as a blob. Byte 0 says what the rest is: 0, the part of a file before its weights, whose hash is made
// right where the frame allows; 1, 2 and 3, the program section of a reference blob of 1 lane, a cpu blob of 2 or an
// npu blob of 1, so that the fuzzer need not find its way through hash and padding; where a program has entries for the
// npu its machine is the one of the samples. What verification lets pass is then walked as a device would, with the
// promises of verifier.h checked in another, plainer way.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/page_buffer.h"
#include "blob/dump.h"
#include "blob/extent.h"
#include "blob/machine/sample_machine_for_test.h"
#include "blob/plan.h"
#include "blob/reader.h"
#include "blob/task_op.h"
#include "blob/verifier.h"
#include "fuzz/accepted.h"

namespace firn::blob {
namespace {

constexpr uint64_t kMaxWeightsBytes = 1ULL << 20;
constexpr uint64_t kMaxVisits = 200000;

void check(bool holds) {
  if (!holds) std::abort();
}

const machine::Machine& sampleMachine() {
  static const machine::Machine machine = machine::sampleMachine();
  return machine;
}

/// Bytes of the buffer that an operand starts in, as a device sees it for this call.
uint64_t roomFor(const ProgramView& program, const EntryRecord& entry, const OperandRecord& operand) {
  const bool isNpu = entry.target == Target::kNpu;
  switch (operand.space) {
    case Space::kScratch: return entry.scratchBytes;
    case Space::kWeights: return program.header->weightsBytes;
    case Space::kKv: return program.header->kvBytes;
    case Space::kSymbol: break;
    case Space::kCmx: return isNpu && operand.base < sampleMachine().tiles ? sampleMachine().cmxBytes : 0;
  }
  for (const SymbolRecord& symbol : program.symbols.subspan(entry.firstSymbol, entry.symbolCount)) {
    if (static_cast<uint16_t>(symbol.kind) != operand.base) continue;
    // Devices but the npu read `context` bytes of the mask, whatever the operand spans.
    return symbol.kind == SymbolKind::kMask && !isNpu ? program.header->kvRows : symbol.bytes;
  }
  return 0;
}

void checkOperand(const ProgramView& program, const EntryRecord& entry, const CallRecord& call,
                  const OperandRecord& operand) {
  uint64_t start = operand.offset;
  const bool hasParam = operand.space == Space::kWeights || operand.space == Space::kKv;
  if (hasParam && operand.base != kNoBase) {
    check(operand.base < call.argCount);
    start += program.callArgs[call.firstArg + operand.base];
  }
  const auto bytes = operandBytes(operand);
  check(bytes.has_value() && *bytes <= operand.bytes);
  const uint64_t room = roomFor(program, entry, operand);
  check(start <= room && operand.bytes <= room - start);
}

/// Of a queue of the npu: that its engine runs the op, on its own tile, with barriers that there are.
void checkNpuTask(const ProgramView& program, uint32_t queue, const TaskRecord& task) {
  const machine::Machine& machine = sampleMachine();
  const machine::QueueOwner owner = machine::ownerOf(machine, queue);
  check(task.op >= 200 && task.op < 300);
  const machine::Engine engine = task.op < 210   ? machine::Engine::kDma
                                 : task.op < 220 ? machine::Engine::kDpu
                                                 : machine::Engine::kShave;
  check(owner.engine == engine);
  for (const OperandRecord& operand : program.operands.subspan(task.firstOperand, task.operandCount)) {
    const auto op = static_cast<TaskOp>(task.op);
    const bool isTable = (op == TaskOp::kNpuEmbed || op == TaskOp::kNpuEmbedGroups) && operand.space == Space::kWeights;
    check(engine == machine::Engine::kDma || isTable || (operand.space == Space::kCmx && operand.base == owner.index));
  }
  const size_t uses = size_t{task.waitCount} + task.signalCount;
  for (const BarrierUse& use : program.barrierUses(size_t{task.firstAttr} + task.attrCount, uses)) {
    check(use.barrier < machine.barriers);
  }
}

/// The segments of a body, each with its lanes.
template <typename Visit>
void forEachTask(const ProgramView& program, const BodyRecord& body, uint32_t lanes, const Visit& visit) {
  for (uint32_t s = 0; s < body.segmentCount; ++s) {
    const SegmentRecord& segment = program.segments[body.firstSegment + s];
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      const LaneRange& range = program.laneRanges[segment.firstRange + lane];
      for (const TaskRecord& task : program.tasks.subspan(range.firstTask, range.taskCount)) visit(s, lane, task);
    }
  }
}

/// Follows every call of every entry through its tasks, up to a number of visits.
void walk(const ProgramView& program, uint32_t lanes) {
  uint64_t visits = 0;
  for (const EntryRecord& entry : program.entries) {
    const bool isNpu = entry.target == Target::kNpu;
    for (const CallRecord& call : program.calls.subspan(entry.firstCall, entry.callCount)) {
      const BodyRecord& body = program.bodies[call.body];
      check(call.argCount == body.paramCount);
      check(!isNpu || body.segmentCount == machine::queueCount(sampleMachine()));
      forEachTask(program, body, lanes, [&](uint32_t segment, uint32_t lane, const TaskRecord& task) {
        if (visits > kMaxVisits) return;
        check(!taskOpName(static_cast<TaskOp>(task.op)).empty());
        check(isNpu ? lane == 0 : task.waitCount == 0 && task.signalCount == 0);
        if (isNpu) checkNpuTask(program, segment, task);
        for (const OperandRecord& operand : program.operands.subspan(task.firstOperand, task.operandCount)) {
          checkOperand(program, entry, call, operand);
          ++visits;
        }
      });
    }
  }
}

void tryProgram(Target target, uint32_t lanes, std::span<const std::byte> bytes) {
  auto buffer = PageBuffer::allocate(bytes.size());
  check(buffer.isOk());
  std::ranges::copy(bytes, buffer->bytes().begin());
  const Result<ProgramView> program = viewProgram(buffer->bytes());
  if (!program.isOk()) return;
  Ident ident{};
  ident.target = target;
  ident.lanes = lanes;
  const auto isNpu = [](const EntryRecord& entry) { return entry.target == Target::kNpu; };
  static const std::string kMachine = machine::sampleMachineJson().dump();
  const std::string_view machine = std::ranges::any_of(program->entries, isNpu) ? kMachine : std::string_view();
  ident.machineHash = machineHashOf(machine);
  if (!verifyProgram(*program, ident, {program->header->weightsBytes, machine}).isOk()) return;
  ++fuzz::acceptedInputs;
  walk(*program, lanes);
}

void tryFile(std::span<const std::byte> outside) {
  std::vector<std::byte> file(outside.begin(), outside.end());
  (void)Blob::fromMemory(file).isOk();
  // The weights that the last section header asks for, where they are few.
  uint64_t weightsBytes = 0;
  if (file.size() >= kFrameProbeBytes) {
    const uint64_t count = std::to_integer<uint64_t>(file[60]);
    if (count >= 1 && count <= kSectionIds) {
      const size_t at = kElfHeaderBytes + (count - 1) * kSectionHeaderBytes + 32;
      for (size_t i = 0; i < 8; ++i) weightsBytes |= std::to_integer<uint64_t>(file[at + i]) << (8 * i);
    }
  }
  if (weightsBytes > kMaxWeightsBytes) return;
  file.resize(file.size() + weightsBytes);
  if (!sealContent(file).isOk()) return;
  const Result<Blob> blob = Blob::fromMemory(file);
  if (!blob.isOk()) return;
  ++fuzz::acceptedInputs;
  std::string text, json;
  dumpText(*blob, {.tasks = true}, [&](std::string_view piece) { text += piece; });
  dumpJson(*blob, {.tasks = true}, [&](std::string_view piece) { json += piece; });
  check(text.ends_with('\n'));
  check(planText(*blob).ends_with('\n'));
  // For the parser a zero byte is the end of its input.
  check(json.find('\0') == std::string::npos && nlohmann::json::accept(json));
  check(blob->weights().size() == (blob->hasWeights() ? weightsBytes : 0));
}

}  // namespace
}  // namespace firn::blob

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using firn::blob::Target;
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  switch (data[0]) {
    case 0: firn::blob::tryFile(bytes); break;
    case 1: firn::blob::tryProgram(Target::kReference, 1, bytes); break;
    case 2: firn::blob::tryProgram(Target::kCpu, 2, bytes); break;
    case 3: firn::blob::tryProgram(Target::kNpu, 1, bytes); break;
    default: break;
  }
  return 0;
}
