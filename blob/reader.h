// Reads a blob: maps the file, verifies everything outside the weights, and gives typed views of it.
// Not here: what the bytes mean (layout.h, task_op.h), the rules they obey (verifier.h), printing (dump.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/page_buffer.h"
#include "base/status.h"
#include "blob/frame.h"
#include "blob/layout.h"
#include "blob/program_view.h"

namespace firn::blob {

/// A verified blob. Movable, immutable, safe to read from any thread; every span and string_view lives as long as it
/// (and survives a move). Everything outside the weights is a private copy; the weights are the mapped file.
/// Every index, offset, extent and name in the tables has been checked (verifier.h): a device may follow them without
/// looking again.
class Blob {
 public:
  /// Maps and verifies. Cost: the part outside the weights is read and hashed once; the weights are not touched.
  /// Errors: not_found, io, invalid_argument (no regular file), corrupt, unsupported, version_mismatch (both versions
  /// named). The message starts with the path.
  static Result<Blob> open(const std::string& path);
  /// The same for bytes in memory, which are copied, weights included. path() is "<memory>".
  static Result<Blob> fromMemory(std::span<const std::byte> file);

  const std::string& path() const { return path_; }
  const Ident& ident() const { return ident_; }
  const ProgramHeader& header() const { return *program_.header; }

  std::span<const EntryRecord> entries() const { return program_.entries; }
  std::span<const CallRecord> calls() const { return program_.calls; }
  std::span<const uint64_t> callArgs() const { return program_.callArgs; }
  std::span<const BodyRecord> bodies() const { return program_.bodies; }
  std::span<const ParamRecord> params() const { return program_.params; }
  std::span<const SegmentRecord> segments() const { return program_.segments; }
  std::span<const LaneRange> laneRanges() const { return program_.laneRanges; }
  std::span<const TaskRecord> tasks() const { return program_.tasks; }
  std::span<const OperandRecord> operands() const { return program_.operands; }
  std::span<const uint64_t> attrs() const { return program_.attrs; }
  std::span<const SymbolRecord> symbols() const { return program_.symbols; }

  // The parts of one record, in order.
  std::span<const CallRecord> callsOf(const EntryRecord& entry) const {
    return calls().subspan(entry.firstCall, entry.callCount);
  }
  std::span<const SymbolRecord> symbolsOf(const EntryRecord& entry) const {
    return symbols().subspan(entry.firstSymbol, entry.symbolCount);
  }
  std::span<const uint64_t> argsOf(const CallRecord& call) const {
    return callArgs().subspan(call.firstArg, call.argCount);
  }
  std::span<const ParamRecord> paramsOf(const BodyRecord& body) const {
    return params().subspan(body.firstParam, body.paramCount);
  }
  std::span<const SegmentRecord> segmentsOf(const BodyRecord& body) const {
    return segments().subspan(body.firstSegment, body.segmentCount);
  }
  /// One LaneRange for each of the ident().lanes lanes.
  std::span<const LaneRange> lanesOf(const SegmentRecord& segment) const {
    return laneRanges().subspan(segment.firstRange, ident_.lanes);
  }
  std::span<const TaskRecord> tasksOf(const LaneRange& range) const {
    return tasks().subspan(range.firstTask, range.taskCount);
  }
  std::span<const OperandRecord> operandsOf(const TaskRecord& task) const {
    return operands().subspan(task.firstOperand, task.operandCount);
  }
  std::span<const uint64_t> attrsOf(const TaskRecord& task) const {
    return attrs().subspan(task.firstAttr, task.attrCount);
  }
  std::span<const BarrierUse> waitsOf(const TaskRecord& task) const {
    return program_.barrierUses(task.firstAttr + task.attrCount, task.waitCount);
  }
  std::span<const BarrierUse> signalsOf(const TaskRecord& task) const {
    return program_.barrierUses(task.firstAttr + task.attrCount + task.waitCount, task.signalCount);
  }

  /// The string at byte `offset` of the string table, as records name it.
  std::string_view string(uint32_t offset) const { return program_.string(offset); }
  /// The targets that its entries are for, ident().target first.
  std::vector<Target> targets() const;
  /// The index of the entry of that name, or nullopt.
  std::optional<uint32_t> findEntry(std::string_view name) const;
  /// The symbol of that kind of `entry`, or nullptr.
  const SymbolRecord* findSymbol(const EntryRecord& entry, SymbolKind kind) const;

  /// Model card, a JSON object.
  std::string_view card() const { return sectionText(outside_.bytes(), frame_, SectionId::kCard); }
  /// Tokenizer image, 4096-byte aligned; empty when the model has none. Unverified until TokenizerImage::open().
  std::span<const std::byte> tokenizer() const { return sectionBytes(outside_.bytes(), frame_, SectionId::kTokenizer); }
  /// Chat template text; empty when the model has none.
  std::string_view chatTemplate() const { return sectionText(outside_.bytes(), frame_, SectionId::kTemplate); }
  /// The machine file of a program for the npu, as JSON; empty when no entry is for one.
  std::string_view machine() const { return sectionText(outside_.bytes(), frame_, SectionId::kMachine); }
  /// False for a blob that was written without its weights: it can be looked at and simulated, and computes nothing.
  bool hasWeights() const { return frame_.place(SectionId::kWeights).hasBytes; }
  /// The weight section, at least 64-byte aligned; the hash of its bytes is checked by verifyWeights() only. Empty when
  /// the weights were left out.
  std::span<const std::byte> weights() const { return weights_; }
  /// corrupt, with both hashes, when the weights are not those of the note. Reads all of them. unsupported when they
  /// were left out.
  Status verifyWeights() const;

  /// Where each section lies in the file.
  const Frame& frame() const { return frame_; }
  /// Bytes of the file, weights included.
  uint64_t fileBytes() const { return frame_.fileBytes(); }

 private:
  Blob() = default;
  /// Verifies outside_, of a file of `fileBytes` bytes, and fills the views.
  Status verify(uint64_t fileBytes);

  std::string path_;
  MappedFile file_;             ///< the weights of a blob on disk
  PageBuffer weightsInMemory_;  ///< the weights of a blob from memory
  PageBuffer outside_;          ///< the file up to its weights
  Frame frame_;
  Ident ident_{};
  ProgramView program_;  ///< into outside_
  std::span<const std::byte> weights_;
};

}  // namespace firn::blob
