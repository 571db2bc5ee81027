#include "runtime/binding.h"

#include <array>
#include <string>

#include "blob/names.h"

namespace firn::runtime {
namespace {

using BoundSymbols = std::array<BoundSymbol, blob::kSymbolKinds>;

Status refuse(const Entry& entry, blob::SymbolKind kind, const std::string& what) {
  return invalidArgument("entry " + entry.name + ", symbol " + std::string(blob::symbolKindName(kind)) + ": " + what);
}

uint64_t alignmentOf(const blob::SymbolRecord& symbol) {
  if (blob::isKv(symbol.kind)) return blob::kTensorAlignment;
  const DTypeInfo* type = dtypeInfo(symbol.dtype);
  return type == nullptr ? 1 : type->blockBytes;
}

Result<BoundSymbol> resolve(const Entry& entry, const blob::SymbolRecord& symbol, BufferTable& buffers,
                            const SymbolBinding& binding) {
  // A batch need not be full: a row without a cache is one that no run may ask for.
  if (binding.bytes == 0 && symbol.kind > blob::SymbolKind::kKv) return BoundSymbol{.record = &symbol};
  if (binding.bytes == 0)
    return refuse(entry, symbol.kind, "is not bound, expected " + std::to_string(symbol.bytes) + " bytes");
  if (binding.bytes != symbol.bytes) {
    return refuse(entry, symbol.kind,
                  "bound to " + std::to_string(binding.bytes) + " bytes, expected " + std::to_string(symbol.bytes));
  }
  const Result<std::span<std::byte>> memory = buffers.find(binding.buffer);
  if (!memory)
    return memory.status().withPlace("entry " + entry.name + ", symbol " +
                                     std::string(blob::symbolKindName(symbol.kind)));
  if (binding.offsetBytes > memory->size() || binding.bytes > memory->size() - binding.offsetBytes) {
    return refuse(entry, symbol.kind,
                  std::to_string(binding.bytes) + " bytes from offset " + std::to_string(binding.offsetBytes) +
                      " leave the buffer of " + std::to_string(memory->size()));
  }
  const uint64_t alignment = alignmentOf(symbol);
  if (binding.offsetBytes % alignment != 0) {
    return refuse(entry, symbol.kind,
                  "offset " + std::to_string(binding.offsetBytes) + " is no multiple of " + std::to_string(alignment));
  }
  return BoundSymbol{.record = &symbol, .buffer = binding.buffer, .data = memory->data() + binding.offsetBytes};
}

bool isWritten(const blob::SymbolRecord& symbol) { return symbol.isOutput != 0 || blob::isKv(symbol.kind); }

Status checkOverlaps(const Entry& entry, const BoundSymbols& symbols) {
  for (const BoundSymbol& a : symbols) {
    if (a.data == nullptr || !isWritten(*a.record)) continue;
    for (const BoundSymbol& b : symbols) {
      if (b.data == nullptr || &a == &b) continue;
      if (a.data < b.data + b.record->bytes && b.data < a.data + a.record->bytes) {
        return refuse(entry, a.record->kind,
                      "is written and overlaps symbol " + std::string(blob::symbolKindName(b.record->kind)));
      }
    }
  }
  return Status::ok();
}

}  // namespace

Status bindEntry(const LoadedProgram& program, Entry& entry, BufferTable& buffers, const Bindings& bindings) {
  BoundSymbols bound{};
  for (uint32_t i = 0; i < blob::kSymbolKinds; ++i) {
    if (entry.symbols[i].record == nullptr) continue;
    FIRN_ASSIGN_OR_RETURN(bound[i], resolve(entry, *entry.symbols[i].record, buffers, bindings[i]));
  }
  FIRN_RETURN_IF_ERROR(checkOverlaps(entry, bound));
  entry.symbols = bound;
  entry.isBound = true;
  program.applyBinding(entry);
  return Status::ok();
}

}  // namespace firn::runtime
