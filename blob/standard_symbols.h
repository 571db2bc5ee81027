// Which symbols an entry has, with their shapes: fixed by its kind, its rows and context, and the model's sizes.
#pragma once

#include <optional>
#include <vector>

#include "blob/layout.h"

namespace firn::blob {

/// prefill: ids, positions, valid, row0, mask in; hidden out; kv in and out. generate: the same with logits for hidden.
/// head: hidden in, logits out. Of the parts of an entry only the first has ids, and only the last has what the entry
/// gives; between them hidden is written by one and read by the next, in place. In the order of SymbolKind. bytes is 0
/// where it overflows, which the verifier refuses.
std::vector<SymbolRecord> standardSymbols(const EntryRecord& entry, const ProgramHeader& header);

/// Of all parts (kv_part.h), 2 x layers of them; nullopt on overflow or a type that no cache has.
std::optional<uint64_t> kvCacheBytes(const ProgramHeader& header);

}  // namespace firn::blob
