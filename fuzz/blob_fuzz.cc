// Arbitrary bytes as a blob. Byte 0 says what the rest is: 0, the part of a file before its weights, whose hash is made
// right where the frame allows; 1 and 2, the program section of a reference blob of 1 lane or a cpu blob of 2, so that
// the fuzzer need not find its way through hash and padding. What verification lets pass is then walked as a device
// would, with the promises of verifier.h checked in another, plainer way.
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

/// Bytes of the buffer that an operand starts in, as a device sees it for this call.
uint64_t roomFor(const ProgramView& program, const EntryRecord& entry, const OperandRecord& operand) {
  switch (operand.space) {
    case Space::kScratch: return entry.scratchBytes;
    case Space::kWeights: return program.header->weightsBytes;
    case Space::kKv: return program.header->kvBytes;
    case Space::kSymbol: break;
  }
  for (const SymbolRecord& symbol : program.symbols.subspan(entry.firstSymbol, entry.symbolCount)) {
    if (static_cast<uint16_t>(symbol.kind) != operand.base) continue;
    // A device reads `context` bytes of the mask, whatever the operand spans.
    return symbol.kind == SymbolKind::kMask ? program.header->kvRows : symbol.bytes;
  }
  return 0;
}

void checkOperand(const ProgramView& program, const EntryRecord& entry, const CallRecord& call,
                  const OperandRecord& operand) {
  uint64_t start = operand.offset;
  if (operand.space != Space::kSymbol && operand.base != kNoBase) {
    check(operand.base < call.argCount);
    start += program.callArgs[call.firstArg + operand.base];
  }
  const auto bytes = operandBytes(operand);
  check(bytes.has_value() && *bytes <= operand.bytes);
  const uint64_t room = roomFor(program, entry, operand);
  check(start <= room && operand.bytes <= room - start);
}

/// Follows every call of every entry through its tasks, up to a number of visits.
void walk(const ProgramView& program, uint32_t lanes) {
  uint64_t visits = 0;
  for (const EntryRecord& entry : program.entries) {
    for (const CallRecord& call : program.calls.subspan(entry.firstCall, entry.callCount)) {
      const BodyRecord& body = program.bodies[call.body];
      check(call.argCount == body.paramCount);
      for (const SegmentRecord& segment : program.segments.subspan(body.firstSegment, body.segmentCount)) {
        for (const LaneRange& range : program.laneRanges.subspan(segment.firstRange, lanes)) {
          for (const TaskRecord& task : program.tasks.subspan(range.firstTask, range.taskCount)) {
            check(!taskOpName(static_cast<TaskOp>(task.op)).empty());
            for (const OperandRecord& operand : program.operands.subspan(task.firstOperand, task.operandCount)) {
              checkOperand(program, entry, call, operand);
              if (++visits == kMaxVisits) return;
            }
          }
        }
      }
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
  if (!verifyProgram(*program, ident, {program->header->weightsBytes, {}}).isOk()) return;
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
  check(blob->weights().size() == weightsBytes);
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
    default: break;
  }
  return 0;
}
