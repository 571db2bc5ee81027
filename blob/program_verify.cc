#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/concat.h"
#include "blob/extent.h"
#include "blob/kv_part.h"
#include "blob/machine/machine.h"
#include "blob/names.h"
#include "blob/npu_task_verify.h"
#include "blob/part_verify.h"
#include "blob/standard_symbols.h"
#include "blob/table_verify.h"
#include "blob/task_op_verify.h"
#include "blob/verifier.h"

namespace firn::blob {

namespace {

// Far above any model, low enough that products of two stay exact everywhere.
constexpr uint32_t kMaxSize = 1U << 24;
constexpr uint32_t kRowMultiple = 64;
static_assert(kMaxRecords * (sizeof(BodyNeeds) + 16) <= 16U << 20, "verifier.h says so");

/// What the records of one program must say, one method per kind of record.
class ProgramCheck {
 public:
  ProgramCheck(const ProgramView& program, const Ident& ident, const ProgramSurroundings& around)
      : program_(program),
        header_(*program.header),
        ident_(ident),
        machineText_(around.machine),
        weightsBytes_(around.weightsBytes),
        partBytes_(KvPart::of(*program.header).value_or(KvPart{}).bytes()) {}

  Status run() {
    FIRN_RETURN_IF_ERROR(verifyTables(program_, ident_.lanes));
    FIRN_RETURN_IF_ERROR(checkSizes());
    FIRN_RETURN_IF_ERROR(checkMemory());
    FIRN_ASSIGN_OR_RETURN(bodyTargets_, verifyParts(program_, ident_.target));
    FIRN_RETURN_IF_ERROR(checkMachine());
    FIRN_RETURN_IF_ERROR(checkParams());
    FIRN_RETURN_IF_ERROR(checkBodies());
    return checkEntries();
  }

 private:
  template <typename... Pieces>
  static Status wrong(std::string_view field, uint64_t found, const Pieces&... expected) {
    return corrupt(concat("program header: ", field, " is ", found, ", expected ", expected...));
  }

  Status checkSizes() const {
    const std::pair<std::string_view, uint32_t> sizes[] = {{"layers", header_.layers},
                                                           {"embed", header_.embed},
                                                           {"heads", header_.heads},
                                                           {"kvHeads", header_.kvHeads},
                                                           {"headDim", header_.headDim},
                                                           {"vocab", header_.vocab},
                                                           {"kvRows", header_.kvRows},
                                                           {"maxPromptTokens", header_.maxPromptTokens},
                                                           {"minResponseTokens", header_.minResponseTokens}};
    for (const auto& [name, value] : sizes) {
      if (value == 0 || value > kMaxSize) return wrong(name, value, "1..", kMaxSize);
    }
    if (header_.heads % header_.kvHeads != 0) {
      return wrong("heads", header_.heads, "a multiple of kvHeads, ", header_.kvHeads);
    }
    if (header_.maxPromptTokens % kRowMultiple != 0) {
      return wrong("maxPromptTokens", header_.maxPromptTokens, "a multiple of ", kRowMultiple);
    }
    if (header_.minResponseTokens % kRowMultiple != 0) {
      return wrong("minResponseTokens", header_.minResponseTokens, "a multiple of ", kRowMultiple);
    }
    if (header_.kvRows != header_.maxPromptTokens + header_.minResponseTokens) {
      return wrong("kvRows", header_.kvRows, header_.maxPromptTokens + header_.minResponseTokens,
                   " (maxPromptTokens + minResponseTokens)");
    }
    if (header_.topTokens > header_.vocab) return wrong("topTokens", header_.topTokens, "0..", header_.vocab);
    if (!isZero(header_.reserved0)) return wrong("reserved0", header_.reserved0[0], "zeros");
    return Status::ok();
  }

  Status checkMemory() const {
    if (!isKvType(header_.kvType)) {
      const DTypeInfo* info = dtypeInfo(header_.kvType);
      return corrupt(concat("program header: kvType is ", static_cast<uint32_t>(header_.kvType), " (",
                            info != nullptr ? info->name : "no type", "), expected ", kvTypeNames()));
    }
    const auto kvBytes = kvCacheBytes(header_);
    if (!kvBytes || header_.kvBytes != *kvBytes) return wrong("kvBytes", header_.kvBytes, kvBytes.value_or(0));
    if (header_.weightsBytes != weightsBytes_) {
      return wrong("weightsBytes", header_.weightsBytes, weightsBytes_, ", the size of section .firn.weights");
    }
    uint64_t scratch = 0;
    for (const EntryRecord& entry : program_.entries) scratch = std::max(scratch, entry.scratchBytes);
    if (header_.scratchBytes != scratch) {
      return wrong("scratchBytes", header_.scratchBytes, scratch, ", the largest of the entries");
    }
    return Status::ok();
  }

  Status checkName(std::string_view record, size_t index, uint32_t name, std::string_view field = "name") const {
    if (name < program_.strings.size() && (name == 0 || program_.strings[name - 1] == '\0')) return Status::ok();
    return corrupt(concat(record, " ", index, ": ", field, " is ", name, ", expected the start of a string below ",
                          program_.strings.size()));
  }

  Status checkParams() const {
    for (size_t i = 0; i < program_.params.size(); ++i) {
      const ParamRecord& param = program_.params[i];
      if (param.space != Space::kWeights && param.space != Space::kKv) {
        return corrupt(
            concat("param ", i, ": space is ", static_cast<uint32_t>(param.space), ", expected weights or kv"));
      }
      if (!isZero(param.reserved0)) return corrupt(concat("param ", i, ": reserved bytes are not zero"));
      if (param.bytes > spaceBytes(param.space)) {
        return corrupt(concat("param ", i, ": ", param.bytes, " bytes, but ", spaceName(param.space), " has ",
                              spaceBytes(param.space)));
      }
      if (param.space == Space::kKv && param.bytes != partBytes_) {
        return corrupt(
            concat("param ", i, ": ", param.bytes, " bytes, expected ", partBytes_, ", those of a part of the cache"));
      }
    }
    return Status::ok();
  }

  Status checkBodies() {
    needs_.resize(program_.bodies.size());
    readAs_.resize(program_.params.size());
    for (size_t i = 0; i < program_.bodies.size(); ++i) {
      const BodyRecord& body = program_.bodies[i];
      FIRN_RETURN_IF_ERROR(checkName("body", i, body.name));
      if (body.reserved0 != 0) return corrupt(concat("body ", i, ": reserved0 is not zero"));
      if (bodyTargets_[i] == Target::kNpu) {
        FIRN_RETURN_IF_ERROR(checkQueues(i));
        continue;
      }
      // Lane ranges and tasks of a body are contiguous, since every table is cut in order.
      const uint64_t firstRange = static_cast<uint64_t>(body.firstSegment) * ident_.lanes;
      const uint64_t rangeCount = static_cast<uint64_t>(body.segmentCount) * ident_.lanes;
      for (const LaneRange& range : program_.laneRanges.subspan(firstRange, rangeCount)) {
        for (uint32_t t = 0; t < range.taskCount; ++t) {
          FIRN_RETURN_IF_ERROR(checkTask(range.firstTask + t, i, needs_[i]));
        }
      }
    }
    return Status::ok();
  }

  /// The machine file is there when an entry is for the npu, and only then.
  Status checkMachine() {
    const auto isNpu = [](const EntryRecord& entry) { return entry.target == Target::kNpu; };
    const bool wants = std::ranges::any_of(program_.entries, isNpu);
    const Hash128 hash = machineHashOf(machineText_);
    if (ident_.machineHash != hash) {
      return corrupt(concat("note: machineHash is ", toHex(ident_.machineHash), ", section ", kMachineSection, " has ",
                            toHex(hash)));
    }
    if (wants == machineText_.empty()) {
      return corrupt(concat("section ", kMachineSection, wants ? " is missing: entries are for the npu"
                                                               : " is there, but no entry is for the npu"));
    }
    if (!wants) return Status::ok();
    FIRN_ASSIGN_OR_RETURN(machine_, machine::parseMachine(machineText_, concat("section ", kMachineSection)));
    return Status::ok();
  }

  /// A body for the npu: a segment for each queue, all of whose tasks are in lane 0.
  Status checkQueues(size_t bodyIndex) {
    const BodyRecord& body = program_.bodies[bodyIndex];
    const uint32_t queues = machine::queueCount(machine_);
    if (body.segmentCount != queues) {
      return corrupt(concat("body ", program_.string(body.name), ": ", body.segmentCount, " segments, expected ",
                            queues, ", one for each queue of machine ", machine_.name));
    }
    for (uint32_t queue = 0; queue < queues; ++queue) {
      const uint64_t firstRange = (uint64_t{body.firstSegment} + queue) * ident_.lanes;
      for (uint32_t lane = 1; lane < ident_.lanes; ++lane) {
        if (program_.laneRanges[firstRange + lane].taskCount == 0) continue;
        return corrupt(concat("body ", program_.string(body.name), ": queue ", queue, " has tasks in lane ", lane));
      }
      const LaneRange& range = program_.laneRanges[firstRange];
      for (uint32_t t = 0; t < range.taskCount; ++t) {
        FIRN_RETURN_IF_ERROR(checkNpuTask(range.firstTask + t, bodyIndex, queue));
      }
    }
    return Status::ok();
  }

  std::string taskPlace(size_t index, const BodyRecord& body, size_t operand = kNoOperand) const {
    const TaskRecord& task = program_.tasks[index];
    return concat("body ", program_.string(body.name), ", task ", index, " (",
                  taskOpName(static_cast<TaskOp>(task.op)), ", ", program_.string(task.name), ")",
                  operand != kNoOperand ? concat(" operand ", operand) : std::string());
  }

  Status checkNpuTask(size_t index, size_t bodyIndex, uint32_t queue) {
    const BodyRecord& body = program_.bodies[bodyIndex];
    const TaskRecord& task = program_.tasks[index];
    FIRN_RETURN_IF_ERROR(checkName("task", index, task.name));
    const auto operands = program_.operands.subspan(task.firstOperand, task.operandCount);
    const size_t afterAttrs = size_t{task.firstAttr} + task.attrCount;
    const NpuTask checked = {.op = static_cast<TaskOp>(task.op),
                             .operands = operands,
                             .attrs = program_.attrs.subspan(task.firstAttr, task.attrCount),
                             .waits = program_.barrierUses(afterAttrs, task.waitCount),
                             .signals = program_.barrierUses(afterAttrs + task.waitCount, task.signalCount)};
    BodyNeeds& needs = needs_[bodyIndex];
    if (Status status = verifyNpuTask({header_, machine_, queue}, checked, needs); !status.isOk()) {
      return status.withPlace(taskPlace(index, body));
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      if (Status status = placeOperand(operands[i], body, needs); !status.isOk()) {
        return status.withPlace(taskPlace(index, body, i));
      }
      // Unlike other targets it reads what its operand spans.
      if (operands[i].space != Space::kSymbol) continue;
      uint64_t& end = needs.symbolEnd[operands[i].base];
      end = std::max(end, operands[i].offset + operands[i].bytes);
    }
    return Status::ok();
  }

  Status checkTask(size_t index, size_t bodyIndex, BodyNeeds& needs) {
    const BodyRecord& body = program_.bodies[bodyIndex];
    const TaskRecord& task = program_.tasks[index];
    FIRN_RETURN_IF_ERROR(checkName("task", index, task.name));
    if (task.waitCount != 0 || task.signalCount != 0) {
      return corrupt(concat("task ", index, ": has waits or signals, which only those of target npu have"));
    }
    const auto op = static_cast<TaskOp>(task.op);
    const auto operands = program_.operands.subspan(task.firstOperand, task.operandCount);
    const auto attrs = program_.attrs.subspan(task.firstAttr, task.attrCount);
    if (Status status = verifyTask({header_, bodyTargets_[bodyIndex]}, op, operands, attrs, needs); !status.isOk()) {
      return status.withPlace(taskPlace(index, body));
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      if (Status status = placeOperand(operands[i], body, needs); !status.isOk()) {
        return status.withPlace(taskPlace(index, body, i));
      }
    }
    if (op == TaskOp::kRefAttention || op == TaskOp::kCpuAttention) {
      readAs_[body.firstParam + operands[kKeysOperand].base] |= kAsKeys;
      readAs_[body.firstParam + operands[kValuesOperand].base] |= kAsValues;
    }
    return Status::ok();
  }

  /// Where the operand ends must be inside what it lies in; what depends on the entry is noted in `needs`.
  Status placeOperand(const OperandRecord& operand, const BodyRecord& body, BodyNeeds& needs) const {
    if (operand.reserved0 != 0) return corrupt("reserved0 is not zero");
    const auto end = checkedAdd(operand.offset, operand.bytes);
    if (!end) return corrupt(concat("offset ", operand.offset, " plus bytes ", operand.bytes, " overflows"));
    if (operand.offset % alignmentOf(operand.dtype) != 0) {
      return corrupt(concat("offset ", operand.offset, " is no multiple of ", alignmentOf(operand.dtype)));
    }
    if (operand.space == Space::kScratch) {
      if (operand.base != kNoBase) return corrupt(concat("base is ", operand.base, ", scratch has none"));
      needs.scratchEnd = std::max(needs.scratchEnd, *end);
      return Status::ok();
    }
    if (operand.space == Space::kCmx) return Status::ok();  // npu_task_verify.h has seen to it
    if (operand.space == Space::kSymbol) return placeSymbol(operand, *end, needs);
    uint64_t limit = spaceBytes(operand.space);
    if (operand.base != kNoBase) {
      if (operand.base >= body.paramCount) {
        return corrupt(concat("base is param ", operand.base, ", the body has ", body.paramCount));
      }
      const ParamRecord& param = program_.params[body.firstParam + operand.base];
      if (param.space != operand.space) return corrupt(concat("param ", operand.base, " points into another space"));
      limit = param.bytes;
    }
    if (*end > limit) {
      return corrupt(concat("ends at byte ", *end, " of its ", operand.base == kNoBase ? "space" : "param",
                            ", which has ", limit));
    }
    return Status::ok();
  }

  /// What an op takes from a symbol names the kind that it must be (operand_kinds.h).
  static Status placeSymbol(const OperandRecord& operand, uint64_t end, BodyNeeds& needs) {
    needs.symbolsUsed |= 1U << operand.base;
    // Of the mask the entry's context is bound and read, whatever the operand spans.
    if (operand.base == static_cast<uint16_t>(SymbolKind::kMask)) return Status::ok();
    needs.symbolEnd[operand.base] = std::max(needs.symbolEnd[operand.base], end);
    return Status::ok();
  }

  Status checkEntries() const {
    std::vector<std::string> seen;
    for (size_t i = 0; i < program_.entries.size(); ++i) {
      const EntryRecord& entry = program_.entries[i];
      if (Status status = checkEntry(i, entry); !status.isOk()) return status.withPlace(concat("entry ", i));
      // The parts of one entry follow each other (part_verify.h); beside a whole one they would be a twin.
      if (entry.part == 0) seen.push_back(entryName(entry.kind, entry.rows, entry.context));
    }
    std::ranges::sort(seen);
    if (const auto twin = std::ranges::adjacent_find(seen); twin != seen.end()) {
      return corrupt(concat("two entries are named ", *twin));
    }
    return Status::ok();
  }

  Status checkEntry(size_t index, const EntryRecord& entry) const {
    FIRN_RETURN_IF_ERROR(checkEntryShape(entry));
    FIRN_RETURN_IF_ERROR(checkName("entry", index, entry.name));
    FIRN_RETURN_IF_ERROR(checkName("entry", index, entry.reason, "reason"));
    const std::string name = entryName(entry);
    if (program_.string(entry.name) != name) {
      return corrupt(concat("name is ", program_.string(entry.name), ", expected ", name));
    }
    const auto symbols = program_.symbols.subspan(entry.firstSymbol, entry.symbolCount);
    FIRN_RETURN_IF_ERROR(checkSymbols(entry, symbols));
    if (entry.callCount == 0) return corrupt(concat(name, " has no calls"));
    for (uint32_t i = 0; i < entry.callCount; ++i) {
      const Status status = checkCall(program_.calls[entry.firstCall + i], entry, symbols);
      if (!status.isOk()) return status.withPlace(concat("call ", entry.firstCall + i));
    }
    return Status::ok();
  }

  Status checkEntryShape(const EntryRecord& entry) const {
    const auto wrong = [](std::string_view field, uint64_t found, auto... expected) {
      return corrupt(concat(field, " is ", found, ", expected ", expected...));
    };
    switch (entry.kind) {
      case EntryKind::kPrefill:
        if (entry.rows == 0 || entry.rows > header_.maxPromptTokens) {
          return wrong("rows", entry.rows, "1..", header_.maxPromptTokens);
        }
        break;
      case EntryKind::kGenerate:
        if (entry.rows != 1) return wrong("rows", entry.rows, "1 for generate");
        break;
      case EntryKind::kHead:
        if (entry.rows == 0 || entry.rows > kMaxSize) return wrong("rows", entry.rows, "1..", kMaxSize);
        return entry.context == 0 ? Status::ok() : wrong("context", entry.context, "0 for a head");
      case EntryKind::kBatch:
        if (entry.rows < 2 || entry.rows > kMaxBatchRows) return wrong("rows", entry.rows, "2..", kMaxBatchRows);
        break;
      default: return wrong("kind", static_cast<uint32_t>(entry.kind), "1..4");
    }
    if (entry.context >= entry.rows && entry.context <= header_.kvRows) return Status::ok();
    return wrong("context", entry.context, entry.rows, "..", header_.kvRows);
  }

  static std::string symbolText(const SymbolRecord& symbol) {
    const std::string_view name = symbolKindName(symbol.kind);
    const DTypeInfo* info = dtypeInfo(symbol.dtype);
    return concat(name.empty() ? "no kind" : name, " (kind ", static_cast<uint32_t>(symbol.kind), "), ",
                  info != nullptr ? info->name : "no type", ", rank ", symbol.rank, ", dims ", symbol.dims[0], " ",
                  symbol.dims[1], " ", symbol.dims[2], " ", symbol.dims[3], ", ", symbol.bytes, " bytes, isOutput ",
                  symbol.isOutput, ", reserved0 ", symbol.reserved0);
  }

  Status checkSymbols(const EntryRecord& entry, std::span<const SymbolRecord> symbols) const {
    const std::vector<SymbolRecord> expected = standardSymbols(entry, header_);
    if (symbols.size() != expected.size()) {
      return corrupt(concat(symbols.size(), " symbols, expected ", expected.size()));
    }
    static_assert(sizeof(SymbolRecord) == 32, "compared as bytes: no padding");
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (std::memcmp(&symbols[i], &expected[i], sizeof(SymbolRecord)) != 0 || expected[i].bytes == 0) {
        return corrupt(concat("symbol ", i, ": is ", symbolText(symbols[i]), ", expected ", symbolText(expected[i])));
      }
    }
    return Status::ok();
  }

  Status checkCall(const CallRecord& call, const EntryRecord& entry, std::span<const SymbolRecord> symbols) const {
    if (call.layer != kNoLayer && call.layer >= header_.layers) {
      return corrupt(concat("layer is ", call.layer, ", there are ", header_.layers));
    }
    const BodyRecord& body = program_.bodies[call.body];
    if (call.argCount != body.paramCount) {
      return corrupt(
          concat(call.argCount, " arguments, body ", program_.string(body.name), " has ", body.paramCount, " params"));
    }
    for (uint32_t i = 0; i < call.argCount; ++i) {
      FIRN_RETURN_IF_ERROR(checkArg(i, program_.callArgs[call.firstArg + i], body.firstParam + i));
    }
    return checkNeeds(needs_[call.body], entry, symbols);
  }

  Status checkArg(uint32_t index, uint64_t arg, size_t paramIndex) const {
    const ParamRecord& param = program_.params[paramIndex];
    const bool isKv = param.space == Space::kKv;
    const uint64_t room = spaceBytes(param.space) - param.bytes;
    const uint64_t unit = isKv ? partBytes_ : kTensorAlignment;
    if (arg > room || arg % unit != 0) {
      return corrupt(concat("argument ", index, " is ", arg, ", expected a multiple of ", unit, " up to ", room));
    }
    if (!isKv) return Status::ok();
    // The parts of the cache are K and V in turn.
    const bool isV = arg / unit % 2 != 0;
    if ((readAs_[paramIndex] & (isV ? kAsKeys : kAsValues)) == 0) return Status::ok();
    return corrupt(concat("argument ", index, " is ", arg, ", ", isV ? "a V" : "a K",
                          " of the cache, which the body reads as ", isV ? "K" : "V"));
  }

  static Status checkNeeds(const BodyNeeds& needs, const EntryRecord& entry, std::span<const SymbolRecord> symbols) {
    if (needs.rows != 0 && needs.rows != entry.rows) {
      return corrupt(concat("the body's tasks have ", needs.rows, " rows, the entry ", entry.rows));
    }
    if (needs.rowsEnd > entry.rows) {
      return corrupt(concat("the body writes ", needs.rowsEnd, " rows of the cache, the entry has ", entry.rows));
    }
    if (needs.scratchEnd > entry.scratchBytes) {
      return corrupt(
          concat("the body uses ", needs.scratchEnd, " bytes of scratch, the entry has ", entry.scratchBytes));
    }
    uint32_t missing = needs.symbolsUsed | (needs.usesKv ? 1U << static_cast<uint32_t>(SymbolKind::kKv) : 0);
    for (const SymbolRecord& symbol : symbols) {
      const auto kind = static_cast<uint32_t>(symbol.kind);
      missing &= ~(1U << kind);
      if (needs.symbolEnd[kind] > symbol.bytes) {
        return corrupt(concat("the body uses ", needs.symbolEnd[kind], " bytes of symbol ", symbolKindName(symbol.kind),
                              ", which has ", symbol.bytes));
      }
      if (symbol.isOutput == 0 && (needs.symbolsWritten & (1U << kind)) != 0) {
        return corrupt(concat("the body writes symbol ", symbolKindName(symbol.kind), ", an input"));
      }
    }
    if (missing == 0) return Status::ok();
    const auto kind = static_cast<SymbolKind>(__builtin_ctz(missing));
    return corrupt(concat("the body uses symbol ", symbolKindName(kind), ", which the entry does not have"));
  }

  uint64_t spaceBytes(Space space) const {
    switch (space) {
      case Space::kWeights: return header_.weightsBytes;
      case Space::kKv: return header_.kvBytes;
      default: return 0;
    }
  }

  static uint64_t alignmentOf(DType type) {
    const DTypeInfo* info = dtypeInfo(type);
    if (info == nullptr) return 1;
    return info->isQuantized ? 2 : info->blockBytes;  // blocks hold f16 scales
  }

  template <size_t kCount>
  static bool isZero(const uint8_t (&bytes)[kCount]) {
    return std::ranges::all_of(bytes, [](uint8_t b) { return b == 0; });
  }

  static constexpr size_t kNoOperand = ~size_t{0};
  // Of the attention ops of both targets (task_op.h).
  static constexpr size_t kKeysOperand = 1;
  static constexpr size_t kValuesOperand = 2;
  static constexpr uint8_t kAsKeys = 1;
  static constexpr uint8_t kAsValues = 2;

  const ProgramView& program_;
  const ProgramHeader& header_;
  const Ident& ident_;
  std::string_view machineText_;
  machine::Machine machine_;  ///< of entries for the npu
  uint64_t weightsBytes_;
  uint64_t partBytes_;
  std::vector<BodyNeeds> needs_;     ///< of each body
  std::vector<uint8_t> readAs_;      ///< of each param: kAsKeys, kAsValues
  std::vector<Target> bodyTargets_;  ///< of each body
};

}  // namespace

Status verifyProgram(const ProgramView& program, const Ident& ident, const ProgramSurroundings& around) {
  return ProgramCheck(program, ident, around).run();
}

}  // namespace firn::blob
