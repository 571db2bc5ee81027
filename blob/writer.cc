#include "blob/writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/align.h"
#include "base/atomic_file.h"
#include "base/concat.h"
#include "base/page_buffer.h"
#include "blob/elf_symbols.h"
#include "blob/frame.h"
#include "blob/standard_symbols.h"
#include "blob/verifier.h"

namespace firn::blob {

namespace {

/// The program section: header, then every table 8-byte aligned.
class ProgramBytes {
 public:
  ProgramBytes(const Program& program, Target target) : header_(program.header) {
    header_.kvRows = header_.maxPromptTokens + header_.minResponseTokens;
    header_.kvBytes = kvCacheBytes(header_).value_or(0);
    header_.scratchBytes = 0;
    for (const EntryRecord& entry : program.entries) {
      header_.scratchBytes = std::max(header_.scratchBytes, entry.scratchBytes);
    }
    bytes_.resize(sizeof(ProgramHeader));
    std::vector<EntryRecord> entries = program.entries;
    for (EntryRecord& entry : entries) {
      if (entry.target == Target{}) entry.target = target;
    }
    header_.entries = append(entries);
    header_.calls = append(program.calls);
    header_.callArgs = append(program.callArgs);
    header_.bodies = append(program.bodies);
    header_.params = append(program.params);
    header_.segments = append(program.segments);
    header_.laneRanges = append(program.laneRanges);
    header_.tasks = append(program.tasks);
    header_.operands = append(program.operands);
    header_.attrs = append(program.attrs);
    header_.symbols = append(program.symbols);
    header_.strings = append(program.strings);
    std::memcpy(bytes_.data(), &header_, sizeof(header_));
  }

  std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  template <typename Records>
  Table append(const Records& records) {
    const uint64_t offset = bytes_.size();
    const uint64_t size = records.size() * sizeof(records[0]);
    bytes_.resize(roundUp(offset + size, 8));
    if (size > 0) std::memcpy(bytes_.data() + offset, records.data(), size);
    return {.offset = offset, .count = records.size()};
  }

  ProgramHeader header_;
  std::vector<std::byte> bytes_;
};

/// Ident as the file holds it, but for the two hashes.
Ident identOf(const Contents& contents) {
  Ident ident = contents.ident;
  ident.formatMajor = kFormatMajor;
  ident.formatMinor = kFormatMinor;
  ident.contentHash = {};
  ident.weightsHash = {};
  ident.machineHash = machineHashOf(contents.machine);
  return ident;
}

}  // namespace

struct Writer::State {
  AtomicFile file;
  PageBuffer outside;
  Frame frame;
  Ident ident{};
  Hasher128 weightsHasher;
  uint64_t weightsWritten = 0;

  /// That the file holds.
  uint64_t weightsBytes() const { return frame.fileBytes() - frame.outsideBytes(); }

  void put(SectionId id, std::span<const std::byte> bytes) {
    std::ranges::copy(bytes, outside.bytes().begin() + static_cast<ptrdiff_t>(frame.place(id).offset));
  }

  /// Puts the note with both hashes into `outside`.
  void sealIdent() {
    ident.weightsHash = frame.place(SectionId::kWeights).hasBytes ? weightsHasher.digest() : Hash128{};
    ident.contentHash = {};
    const auto at = outside.bytes().subspan(frame.place(SectionId::kNote).offset + kNoteDescriptorOffset);
    std::memcpy(at.data(), &ident, sizeof(ident));
    ident.contentHash = contentHashOf(outside.bytes(), frame);
    std::memcpy(at.data(), &ident, sizeof(ident));
  }
};

Writer::Writer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

Result<Writer> Writer::create(const std::string& path, const Contents& contents) {
  auto state = std::make_unique<State>();
  const std::vector<std::byte> program = ProgramBytes(contents.program, contents.ident.target).take();
  FIRN_ASSIGN_OR_RETURN(const ProgramView view, viewProgram(program));

  Frame& frame = state->frame;
  const auto set = [&](SectionId id, uint64_t bytes, bool present) {
    frame.place(id) = {.offset = 0, .bytes = bytes, .present = present};
  };
  set(SectionId::kProgram, program.size(), true);
  set(SectionId::kCard, contents.card.size(), true);
  set(SectionId::kTokenizer, contents.tokenizer.size(), !contents.tokenizer.empty());
  set(SectionId::kTemplate, contents.chatTemplate.size(), !contents.chatTemplate.empty());
  set(SectionId::kMachine, contents.machine.size(), !contents.machine.empty());
  set(SectionId::kWeights, contents.program.header.weightsBytes, true);
  frame.place(SectionId::kWeights).hasBytes = contents.hasWeights;
  placeSections(frame);
  state->ident = identOf(contents);
  // Before the symbols are made, since they follow the records.
  if (Status status = verifyProgram(view, state->ident, {contents.program.header.weightsBytes, contents.machine});
      !status.isOk()) {
    return internalError(concat("the compiled program breaks a rule of the blob format: ", status.message()));
  }
  const ElfSymbols symbols = makeElfSymbols(view, frame);
  set(SectionId::kSymtab, symbols.symtab.size(), true);
  set(SectionId::kStrtab, symbols.strtab.size(), true);
  placeSections(frame);
  if (frame.outsideBytes() > kMaxOutsideBytes) {
    return resourceExhausted(concat("the blob has ", frame.outsideBytes(), " bytes besides its weights, the limit is ",
                                    kMaxOutsideBytes, ": program ", program.size(), ", tokenizer ",
                                    contents.tokenizer.size(), ", template ", contents.chatTemplate.size()));
  }

  FIRN_ASSIGN_OR_RETURN(state->outside, PageBuffer::allocate(frame.outsideBytes()));
  writeFrame(frame, state->outside.bytes());
  state->put(SectionId::kProgram, program);
  state->put(SectionId::kCard, std::as_bytes(std::span(contents.card)));
  if (!contents.tokenizer.empty()) state->put(SectionId::kTokenizer, contents.tokenizer);
  if (!contents.chatTemplate.empty()) state->put(SectionId::kTemplate, std::as_bytes(std::span(contents.chatTemplate)));
  if (!contents.machine.empty()) state->put(SectionId::kMachine, std::as_bytes(std::span(contents.machine)));
  state->put(SectionId::kSymtab, symbols.symtab);
  state->put(SectionId::kStrtab, std::as_bytes(std::span(symbols.strtab)));

  FIRN_ASSIGN_OR_RETURN(state->file, AtomicFile::create(path));
  FIRN_RETURN_IF_ERROR(state->file.append(state->outside.bytes()));
  return Writer(std::move(state));
}

uint64_t Writer::weightsOffset() const { return state_->weightsWritten; }

Status Writer::appendWeights(std::span<const std::byte> bytes) {
  if (bytes.size() > state_->weightsBytes() - state_->weightsWritten) {
    return internalError(concat("weights: ", state_->weightsWritten + bytes.size(), " bytes written, the program has ",
                                state_->weightsBytes()));
  }
  FIRN_RETURN_IF_ERROR(state_->file.append(bytes));
  state_->weightsHasher.update(bytes);
  state_->weightsWritten += bytes.size();
  return Status::ok();
}

Status Writer::padWeightsTo(uint64_t offset) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  if (offset < state_->weightsWritten) {
    return internalError(
        concat("weights: padding to ", offset, ", but ", state_->weightsWritten, " bytes are written"));
  }
  while (state_->weightsWritten < offset) {
    const uint64_t count = std::min<uint64_t>(kZeros.size(), offset - state_->weightsWritten);
    FIRN_RETURN_IF_ERROR(appendWeights(std::span(kZeros).first(count)));
  }
  return Status::ok();
}

Status Writer::finish() {
  State& state = *state_;
  if (state.weightsWritten != state.weightsBytes()) {
    return internalError(
        concat("weights: ", state.weightsWritten, " bytes written, the program has ", state.weightsBytes()));
  }
  state.sealIdent();
  if (const auto verified = verifyOutside(state.outside.bytes(), state.frame.fileBytes()); !verified.isOk()) {
    return internalError(concat("the blob breaks its own format: ", verified.status().message()));
  }
  FIRN_RETURN_IF_ERROR(state.file.writeAt(0, state.outside.bytes()));
  return state.file.commit();
}

}  // namespace firn::blob
