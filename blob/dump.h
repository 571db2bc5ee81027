// Says what is in a blob, for people and for machines (`firn inspect`). Not here: reading it (reader.h).
#pragma once

#include <string>

#include "blob/reader.h"

namespace firn::blob {

struct DumpOptions {
  bool tasks = false;  ///< every task with its operands and addresses too; long
};

/// Identification, card, sizes, sections, entries with rows, context and predicted cost, bodies, memory plan, symbols;
/// about a hundred lines without tasks. Ends with a newline.
std::string dumpText(const Blob& blob, const DumpOptions& options);

/// The same as one JSON object, indented by 2; sizes in bytes, costs in picoseconds, hashes as hex.
std::string dumpJson(const Blob& blob, const DumpOptions& options);

}  // namespace firn::blob
