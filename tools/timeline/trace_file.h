// Writes a trace that chrome://tracing and Perfetto open: the JSON form of Google's "Trace Event Format", an object
// with the array "traceEvents". Times are given in picoseconds and written in microseconds, with all digits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/atomic_file.h"
#include "base/status.h"

namespace firn::tools {

/// What a slice tells when it is clicked: names and values.
using TraceArgs = std::span<const std::pair<std::string_view, std::string>>;

/// A file that appears under its name when close() succeeds, and not before. Movable; one thread.
class TraceFile {
 public:
  /// Errors: those of AtomicFile.
  static Result<TraceFile> create(const std::string& path);

  /// A group of tracks, and a track of it; numbers are the caller's, from 1 on. Tracks stand in the order of their
  /// numbers.
  Status nameGroup(uint32_t group, std::string_view name);
  Status nameTrack(uint32_t group, uint32_t track, std::string_view name);

  struct Slice {
    uint32_t group = 0;
    uint32_t track = 0;
    std::string_view name;
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  Status slice(const Slice& slice, TraceArgs args = {});
  /// `counter` has `value` from `time` on; `unit` is what it counts.
  Status count(uint32_t group, std::string_view counter, std::string_view unit, uint64_t time, double value);

  Status close();

 private:
  TraceFile() = default;
  /// Adds an event: the inside of its JSON object.
  Status add(const std::string& event);
  Status flush();

  AtomicFile file_;
  std::string pending_;
  bool hasEvents_ = false;
};

}  // namespace firn::tools
