// What lies in the on-chip memory of each tile while a body runs, and for how long: for pictures and traces. Not for
// decisions: the compiler places buffers, and what a task touches to the byte is told by task_accesses.h.
#pragma once

#include <cstdint>
#include <vector>

#include "blob/machine/machine.h"
#include "blob/reader.h"
#include "runtime/devices/npu/entry_timeline.h"

namespace firn::runtime {

/// Bytes [first, first + bytes) of a tile hold what a task writes, from its begin to the end of the last task that
/// reads or changes them. Where rows of two writers interleave, the one that begins later has the whole extent.
struct CmxUse {
  uint32_t tile = 0;
  uint64_t first = 0;
  uint64_t bytes = 0;
  uint64_t begin = 0;  ///< picoseconds from the start of the body
  uint64_t end = 0;
  uint32_t task = 0;  ///< the writer: index into the body's tasks, as in BodyTimeline
};

/// Of one run of a body, whose timeline has its tasks. Uses of one tile never overlap in both bytes and time. Time
/// grows with the tasks and their operands.
std::vector<CmxUse> cmxUsesOf(const blob::Blob& blob, const BodyTimeline& body);

}  // namespace firn::runtime
