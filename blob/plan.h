// Where a blob runs: which functions its entries are cut into, on which target, and why.
// Not here: the records themselves (dump.h), how the compiler decides (compiler/placement.h).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "blob/reader.h"

namespace firn::blob {

/// One function of an entry: all of it, unless it is cut.
struct PlanPart {
  Target target{};
  std::string contents;     ///< "input, layers 0 to 3", "layers 4 to 7, output"
  std::string_view reason;  ///< why there, and why the cut; as long as the blob

  auto operator<=>(const PlanPart&) const = default;
};

/// Entries that are cut alike.
struct PlanGroup {
  std::vector<std::string> entries;  ///< names without parts, in the blob's order
  std::vector<EntryKind> kinds;      ///< of them, each once
  std::vector<PlanPart> parts;       ///< in the order they run
};

/// The functions of the entry whose first part is entries()[entry].
std::vector<PlanPart> partsOf(const Blob& blob, uint32_t entry);

/// All entries, in the order of the first of each group.
std::vector<PlanGroup> planOf(const Blob& blob);

/// A paragraph for each group: the names, then a line for each function.
std::string planText(const Blob& blob);

}  // namespace firn::blob
