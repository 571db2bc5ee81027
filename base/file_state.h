// What tells one state of a file from another without reading it.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace firn {

/// Two that are equal are of the same bytes, as far as the system tells: a write changes the times, also one that puts
/// the time of modification back; another file in its place has another inode.
struct FileState {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t bytes = 0;
  int64_t modifiedNs = 0;  ///< since the epoch: of the content
  int64_t changedNs = 0;   ///< of the content, name count or permissions; nobody can set it

  bool operator==(const FileState&) const = default;
};

/// The state of the file that `path` leads to now. not_found, or io with the system's reason.
Result<FileState> fileState(const std::string& path);

/// Ok when `path` still leads to a file in the state `before`; io otherwise: what was read of it in between may be of
/// two states.
Status checkUnchanged(const std::string& path, const FileState& before);

}  // namespace firn
