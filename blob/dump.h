// Says what is in a blob, for people and for machines (`firn inspect`). Not here: reading it (reader.h).
#pragma once

#include <functional>
#include <string_view>

#include "blob/reader.h"

namespace firn::blob {

struct DumpOptions {
  bool tasks = false;  ///< every task with its operands and addresses too; long
};

/// Takes a dump piece by piece, in order.
using DumpSink = std::function<void(std::string_view)>;

/// Identification, card, sizes, sections, entries with rows, context and predicted cost, bodies, memory plan, symbols;
/// about a hundred lines without tasks. Tasks of the npu are named by their queue, with their waits and signals. Ends
/// with a newline. Takes the memory of one record, of the card, of the machine and of a number for each body.
void dumpText(const Blob& blob, const DumpOptions& options, const DumpSink& sink);

/// The same as one JSON object, indented by 2, with the card as it is and a line for each task; sizes in bytes, costs
/// in picoseconds, hashes as hex. Takes the memory of one record, of the machine and of a number for each body.
void dumpJson(const Blob& blob, const DumpOptions& options, const DumpSink& sink);

}  // namespace firn::blob
