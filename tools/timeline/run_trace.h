// A generation as a trace: of entries for the npu all tasks in simulated time, of others the entries in measured time
// and what their ops took.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "blob/reader.h"
#include "runtime/device.h"

namespace firn::tools {

/// An entry that ran, by the index of its first part.
struct ProfiledEntry {
  uint32_t entry = 0;
  uint64_t nanoseconds = 0;  ///< measured
};

/// A prompt or a step: what ran one behind the other, and what Device::profile() tells of it.
struct ProfiledRun {
  std::vector<ProfiledEntry> entries;
  std::vector<runtime::ProfileRow> rows;
};

/// Writes the trace of `runs`, which began one behind the other, to `path`. Errors: those of TraceFile; corrupt for
/// tasks that never end.
Status writeRunTrace(const std::string& path, const blob::Blob& blob, const std::vector<ProfiledRun>& runs);

}  // namespace firn::tools
