#include "blob/verify/entry_verify.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/concat.h"
#include "blob/kv_part.h"
#include "blob/names.h"
#include "blob/standard_symbols.h"
#include "blob/verify/header_verify.h"
#include "blob/verify/table_verify.h"
#include "blob/verify/task_place.h"

namespace firn::blob {

namespace {

class EntryCheck {
 public:
  EntryCheck(const ProgramView& program, std::span<const BodyNeeds> needs, std::span<const ReadAs> readAs)
      : program_(program),
        header_(*program.header),
        needs_(needs),
        readAs_(readAs),
        partBytes_(KvPart::of(*program.header).value_or(KvPart{}).bytes()) {}

  Status run() const {
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

 private:
  Status checkEntry(size_t index, const EntryRecord& entry) const {
    FIRN_RETURN_IF_ERROR(checkEntryShape(entry));
    FIRN_RETURN_IF_ERROR(verifyName(program_, "entry", index, entry.name));
    FIRN_RETURN_IF_ERROR(verifyName(program_, "entry", index, entry.reason, "reason"));
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
    const uint64_t room = spaceBytes(header_, param.space) - param.bytes;
    const uint64_t unit = isKv ? partBytes_ : kTensorAlignment;
    if (arg > room || arg % unit != 0) {
      return corrupt(concat("argument ", index, " is ", arg, ", expected a multiple of ", unit, " up to ", room));
    }
    if (!isKv) return Status::ok();
    // The parts of the cache are K and V in turn.
    const bool isV = arg / unit % 2 != 0;
    const ReadAs& readAs = readAs_[paramIndex];
    if (!(isV ? readAs.keys : readAs.values)) return Status::ok();
    return corrupt(concat("argument ", index, " is ", arg, ", ", isV ? "a V" : "a K",
                          " of the cache, which the body reads as ", isV ? "K" : "V"));
  }

  static Status checkNeeds(const BodyNeeds& needs, const EntryRecord& entry, std::span<const SymbolRecord> symbols) {
    if (needs.rows != 0 && needs.rows != entry.rows) {
      return corrupt(concat("the body's tasks have ", needs.rows, " rows, the entry ", entry.rows));
    }
    if (needs.usesKv && entry.target == Target::kNpu && entry.kind == EntryKind::kBatch) {
      return corrupt("the body uses the cache, but a task of the npu does not reach those of the rows of a batch");
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

  const ProgramView& program_;
  const ProgramHeader& header_;
  std::span<const BodyNeeds> needs_;
  std::span<const ReadAs> readAs_;
  uint64_t partBytes_;
};

}  // namespace

Status verifyEntries(const ProgramView& program, std::span<const BodyNeeds> needs, std::span<const ReadAs> readAs) {
  return EntryCheck(program, needs, readAs).run();
}

}  // namespace firn::blob
