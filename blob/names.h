// The words for the numbers of the format, for messages, symbols and dumps. Not here: task ops (task_op.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "blob/layout.h"

namespace firn::blob {

// Each gives an empty view for a number that is none.
std::string_view targetName(Target target);        ///< "cpu", "npu", "reference"
std::string_view entryKindName(EntryKind kind);    ///< "prefill", "generate", "head", "batch"
std::string_view symbolKindName(SymbolKind kind);  ///< "ids", "positions", ...
std::string_view spaceName(Space space);           ///< "scratch", "weights", "kv", "symbol", "cmx"

/// The target of that name; nullopt for any other text.
std::optional<Target> targetFromName(std::string_view name);
/// The names of all targets, for messages: "cpu, npu, reference".
std::string targetNames();
/// "cpu", "cpu and reference": what a blob is for.
std::string targetNames(std::span<const Target> targets);

/// The only name an entry may have: `prefill.<rows>.<context>`, `generate.<context>`, `head.<rows>` or
/// `batch.<rows>.<context>`.
std::string entryName(EntryKind kind, uint32_t rows, uint32_t context);
/// The same with `.p<part>` behind it where the entry is cut.
std::string entryName(const EntryRecord& entry);

}  // namespace firn::blob
