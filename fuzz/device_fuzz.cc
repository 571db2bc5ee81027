// Arbitrary bytes as the part of a blob before its weights, with the hash made right: what verification lets pass is
// run on the devices of its targets, every entry once, because a device follows a verified blob without looking again;
// on cpu and npu with plain C++ too, where a sanitizer sees the arithmetic, on the npu checked as well. "null" takes
// the entries of every target.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blob/elf_symbols.h"
#include "blob/frame.h"
#include "blob/machine/sample_machine_for_test.h"
#include "blob/names.h"
#include "blob/reader.h"
#include "blob/verifier.h"
#include "fuzz/accepted.h"
#include "kernels/cpu/arithmetic.h"
#include "runtime/device.h"

namespace firn::runtime {
namespace {

constexpr uint64_t kMaxBytes = 4ULL << 20;
constexpr uint64_t kMaxSymbolBytes = 2 * blob::kMaxBatchRows * kMaxBytes;
constexpr uint64_t kMaxWork = 64ULL << 20;

void check(bool holds) {
  if (!holds) std::abort();
}

/// Bytes that all calls of an entry touch: small ones run in little time.
uint64_t workOf(const blob::Blob& blob, const blob::EntryRecord& entry) {
  uint64_t work = 0;
  for (const blob::CallRecord& call : blob.callsOf(entry)) {
    for (const blob::SegmentRecord& segment : blob.segmentsOf(blob.bodies()[call.body])) {
      for (const blob::LaneRange& range : blob.lanesOf(segment)) {
        for (const blob::TaskRecord& task : blob.tasksOf(range)) {
          // A product reads the weights once per row.
          for (const blob::OperandRecord& operand : blob.operandsOf(task)) work += operand.bytes * entry.rows;
          if (work > kMaxWork) return work;
        }
      }
    }
  }
  return work;
}

template <typename Number>
void fill(std::span<std::byte> bytes, Number first, Number step) {
  for (size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number), first += step) {
    std::memcpy(bytes.data() + at, &first, sizeof(Number));
  }
}

void setInput(blob::SymbolKind kind, std::span<std::byte> bytes, uint32_t rows) {
  switch (kind) {
    case blob::SymbolKind::kPositions: fill<int32_t>(bytes, 0, 1); break;
    case blob::SymbolKind::kValid: fill<int32_t>(bytes, static_cast<int32_t>(rows), 0); break;
    case blob::SymbolKind::kMask:
      std::ranges::fill(bytes.first(std::min<size_t>(rows, bytes.size())), std::byte{1});
      break;
    case blob::SymbolKind::kHidden: fill<float>(bytes, 0.5F, 0.25F); break;
    default: break;
  }
}

/// Bytes that the symbols of an entry ask for: few, though a header may say that a row is wide.
uint64_t symbolBytes(const blob::Blob& blob, const blob::EntryRecord& entry) {
  uint64_t bytes = 0;
  for (const blob::SymbolRecord& symbol : blob.symbolsOf(entry)) bytes += symbol.bytes;
  return bytes;
}

/// True when the entry ran.
bool runEntry(Device& device, ProgramId program, const blob::Blob& blob, uint32_t index) {
  const blob::EntryRecord& entry = blob.entries()[index];
  Bindings bindings{};
  std::vector<BufferId> buffers;
  for (const blob::SymbolRecord& symbol : blob.symbolsOf(entry)) {
    const Result<BufferId> buffer = device.alloc(symbol.bytes);
    check(buffer.isOk());
    buffers.push_back(*buffer);
    const auto bytes = device.map(*buffer);
    check(bytes.isOk());
    setInput(symbol.kind, bytes->first(symbol.bytes), entry.rows);
    bindings[static_cast<size_t>(symbol.kind)] = {.buffer = *buffer, .offsetBytes = 0, .bytes = symbol.bytes};
  }
  check(device.bind(program, index, bindings).isOk());
  const bool isSubmitted = device.submit(program, index).isOk();
  if (isSubmitted) check(device.wait().isOk());
  check(device.reset().isOk());
  for (const BufferId buffer : buffers) check(device.free(buffer).isOk());
  return isSubmitted;
}

void runAll(const blob::Blob& blob, std::string_view name, const DeviceOptions& options = {}) {
  const auto device = openDevice(name, options);
  check(device.isOk());
  const Result<ProgramId> program = (*device)->load(blob, {.threads = 1});
  if (!program.isOk()) return;
  for (uint32_t i = 0; i < blob.entries().size(); ++i) {
    const blob::EntryRecord& entry = blob.entries()[i];
    if (name != "null" && name != blob::targetName(entry.target)) {
      check((*device)->bind(*program, i, {}).code() == Code::kInvalidArgument);
      check((*device)->submit(*program, i).code() == Code::kInvalidArgument);
      continue;
    }
    if (workOf(blob, entry) > kMaxWork || symbolBytes(blob, entry) > kMaxSymbolBytes) continue;
    // null takes whatever passed verification, and a seed is good for nothing that no other device runs.
    if (runEntry(**device, *program, blob, i) && name != "null") ++fuzz::acceptedInputs;
  }
  check((*device)->unload(*program).isOk());
}

/// A blob around a program section that passes verification; empty when it does not.
std::vector<std::byte> blobAround(blob::Ident ident, std::span<const std::byte> section) {
  std::vector<uint64_t> aligned((section.size() + 7) / 8);
  const auto program = std::as_writable_bytes(std::span(aligned)).first(section.size());
  std::ranges::copy(section, program.begin());
  const Result<blob::ProgramView> view = blob::viewProgram(program);
  if (!view.isOk() || view->header->weightsBytes > kMaxBytes) return {};
  const auto isNpu = [](const blob::EntryRecord& entry) { return entry.target == blob::Target::kNpu; };
  static const std::string kMachine = machine::sampleMachineJson().dump();
  const std::string_view machine = std::ranges::any_of(view->entries, isNpu) ? kMachine : std::string_view();
  ident.machineHash = blob::machineHashOf(machine);
  if (!blob::verifyProgram(*view, ident, {view->header->weightsBytes, machine}).isOk()) return {};
  constexpr std::string_view kCard = "{}";
  blob::Frame frame;
  frame.place(blob::SectionId::kMachine) = {.offset = 0, .bytes = machine.size(), .present = !machine.empty()};
  blob::placeSections(frame);
  const blob::ElfSymbols symbols = blob::makeElfSymbols(*view, frame);
  frame.place(blob::SectionId::kProgram).bytes = program.size();
  frame.place(blob::SectionId::kCard).bytes = kCard.size();
  frame.place(blob::SectionId::kSymtab).bytes = symbols.symtab.size();
  frame.place(blob::SectionId::kStrtab).bytes = symbols.strtab.size();
  frame.place(blob::SectionId::kWeights).bytes = view->header->weightsBytes;
  blob::placeSections(frame);
  std::vector<std::byte> file(frame.outsideBytes() + view->header->weightsBytes);
  blob::writeFrame(frame, std::span(file).first(frame.outsideBytes()));
  const auto put = [&](blob::SectionId id, std::span<const std::byte> bytes) {
    std::ranges::copy(bytes, file.begin() + static_cast<ptrdiff_t>(frame.place(id).offset));
  };
  put(blob::SectionId::kProgram, program);
  put(blob::SectionId::kCard, std::as_bytes(std::span(kCard)));
  put(blob::SectionId::kMachine, std::as_bytes(std::span(machine)));
  put(blob::SectionId::kSymtab, symbols.symtab);
  put(blob::SectionId::kStrtab, std::as_bytes(std::span(symbols.strtab)));
  const uint64_t noteAt = frame.place(blob::SectionId::kNote).offset + blob::kNoteDescriptorOffset;
  std::memcpy(file.data() + noteAt, &ident, sizeof(ident));
  for (size_t i = frame.outsideBytes(); i < file.size(); ++i) file[i] = static_cast<std::byte>(i * 7);
  check(blob::sealContent(file).isOk());
  return file;
}

}  // namespace
}  // namespace firn::runtime

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace firn;
  if (size == 0 || data[0] < 1 || data[0] > 3) return 0;  // byte 0 as in blob_fuzz.cc
  constexpr blob::Target kTargets[] = {blob::Target::kReference, blob::Target::kCpu, blob::Target::kNpu};
  blob::Ident ident{};
  ident.formatMajor = blob::kFormatMajor;
  ident.formatMinor = blob::kFormatMinor;
  ident.target = kTargets[data[0] - 1];
  ident.lanes = ident.target == blob::Target::kCpu ? 2 : 1;
  ident.arithmeticId = cpu::kArithmeticId;
  const std::vector<std::byte> file = runtime::blobAround(ident, std::as_bytes(std::span(data, size)).subspan(1));
  if (file.empty()) return 0;
  const Result<blob::Blob> blob = blob::Blob::fromMemory(file);
  runtime::check(blob.isOk());
  if (blob->header().kvBytes > runtime::kMaxBytes || blob->header().scratchBytes > runtime::kMaxBytes) return 0;
  for (const blob::Target target : blob->targets()) {
    runtime::runAll(*blob, blob::targetName(target));
    if (target == blob::Target::kReference) continue;
    runtime::runAll(*blob, blob::targetName(target),
                    {.instructionSet = "portable", .simulation = runtime::SimulationMode::kChecked});
  }
  runtime::runAll(*blob, "null");
  return 0;
}
