#include "blob/standard_symbols.h"

#include <algorithm>
#include <initializer_list>

#include "blob/extent.h"
#include "blob/kv_part.h"

namespace firn::blob {

namespace {

SymbolRecord symbol(SymbolKind kind, DType dtype, std::initializer_list<uint32_t> dims) {
  SymbolRecord record{};
  record.kind = kind;
  record.dtype = dtype;
  record.rank = static_cast<uint8_t>(dims.size());
  record.dims.fill(1);
  std::optional<uint64_t> elements = 1;
  size_t i = 0;
  for (uint32_t dim : dims) {
    record.dims[i++] = dim;
    if (elements) elements = checkedMultiply(*elements, dim);
  }
  record.bytes = elements ? dtypeBytes(dtype, *elements).value_or(0) : 0;
  return record;
}

SymbolRecord output(SymbolRecord record) {
  record.isOutput = 1;
  return record;
}

/// What an entry gives of the vocabulary: all logits, and the best of them where the program has lists of those.
void addLogits(const EntryRecord& entry, const ProgramHeader& header, std::vector<SymbolRecord>& symbols) {
  symbols.push_back(output(symbol(SymbolKind::kLogits, DType::kF32, {entry.rows, header.vocab})));
  if (header.topTokens == 0) return;
  symbols.push_back(output(symbol(SymbolKind::kTopLogits, DType::kF32, {entry.rows, header.topTokens})));
  symbols.push_back(output(symbol(SymbolKind::kTopIds, DType::kI32, {entry.rows, header.topTokens})));
}

/// Rank 4: [layer and K or V, kvHead, row, element]; the bytes count scales too.
SymbolRecord kvSymbol(const ProgramHeader& header, uint32_t row) {
  SymbolRecord record = symbol(kvOfRow(row), header.kvType, {});
  record.rank = 4;
  record.dims = {header.layers * 2, header.kvHeads, header.kvRows, header.headDim};
  record.bytes = kvCacheBytes(header).value_or(0);
  return record;
}

}  // namespace

std::optional<uint64_t> kvCacheBytes(const ProgramHeader& header) {
  const auto part = KvPart::of(header);
  if (!part) return std::nullopt;
  return checkedMultiply(uint64_t{header.layers} * 2, part->bytes());
}

std::vector<SymbolRecord> standardSymbols(const EntryRecord& entry, const ProgramHeader& header) {
  const SymbolRecord hidden = symbol(SymbolKind::kHidden, DType::kF32, {entry.rows, header.embed});
  std::vector<SymbolRecord> symbols;
  if (entry.kind == EntryKind::kHead) {
    symbols.push_back(hidden);
    addLogits(entry, header, symbols);
    return symbols;
  }
  const bool isFirst = entry.part == 0;
  const bool isLast = entry.part + 1 == entry.parts;
  const bool leavesHidden = !isLast || entry.kind == EntryKind::kPrefill;
  const bool isBatch = entry.kind == EntryKind::kBatch;
  const uint32_t caches = isBatch ? std::min(entry.rows, kMaxBatchRows) : 1;
  if (isFirst) symbols.push_back(symbol(SymbolKind::kIds, DType::kI32, {entry.rows}));
  symbols.push_back(symbol(SymbolKind::kPositions, DType::kI32, {entry.rows}));
  symbols.push_back(symbol(SymbolKind::kValid, DType::kI32, {1}));
  symbols.push_back(symbol(SymbolKind::kRow0, DType::kI32, {caches}));
  symbols.push_back(isBatch ? symbol(SymbolKind::kMask, DType::kU8, {entry.rows, entry.context})
                            : symbol(SymbolKind::kMask, DType::kU8, {entry.context}));
  if (leavesHidden) symbols.push_back(output(hidden));
  if (!leavesHidden && !isFirst) symbols.push_back(hidden);
  if (!leavesHidden) addLogits(entry, header, symbols);
  for (uint32_t row = 0; row < caches; ++row) symbols.push_back(output(kvSymbol(header, row)));
  return symbols;
}

}  // namespace firn::blob
