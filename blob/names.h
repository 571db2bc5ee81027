// The words for the numbers of the format, for messages, symbols and dumps. Not here: task ops (task_op.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "blob/layout.h"

namespace firn::blob {

// Each gives an empty view for a number that is none.
std::string_view targetName(Target target);        ///< "reference", "cpu"
std::string_view entryKindName(EntryKind kind);    ///< "prefill", "generate", "head"
std::string_view symbolKindName(SymbolKind kind);  ///< "ids", "positions", ...
std::string_view spaceName(Space space);           ///< "scratch", "weights", "kv", "symbol"

/// The only name an entry may have: `prefill.<rows>.<context>`, `generate.<context>` or `head.<rows>`.
std::string entryName(EntryKind kind, uint32_t rows, uint32_t context);

}  // namespace firn::blob
