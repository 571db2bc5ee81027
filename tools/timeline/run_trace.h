// A generation as a trace. Where the npu has a part in it, all its tasks in simulated time, and parts for other devices
// in the time that the compiler predicts for them: what they took here would be of another clock. Else the entries in
// measured time, and what their ops took.
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
  uint64_t nanoseconds = 0;  ///< measured, of all its parts
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
