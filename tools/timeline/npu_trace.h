// The tasks of entries for the npu as a trace: a track for each DMA engine, DPU and group of SHAVEs, and counters of
// the DDR's rate and of the CMX in use.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "blob/machine/machine.h"
#include "blob/reader.h"
#include "runtime/devices/npu/cmx_use.h"
#include "runtime/devices/npu/entry_timeline.h"
#include "tools/timeline/trace_file.h"

namespace firn::tools {

/// A value that holds from `time` on.
struct CounterStep {
  uint64_t time = 0;
  double value = 0;
};

/// KiB in use of tile `tile`.
std::vector<CounterStep> cmxFillOf(std::span<const runtime::CmxUse> uses, uint32_t tile);

/// Adds runs of entries to a trace. One thread.
class NpuTrace {
 public:
  /// Names the tracks. `blob` and `trace` must outlive it. invalid_argument: the blob has no machine.
  static Result<NpuTrace> create(const blob::Blob& blob, TraceFile& trace);

  /// One run of entry `entry`, a part for the npu, that begins at `start`; gives when it ends, in picoseconds.
  Result<uint64_t> add(uint32_t entry, uint64_t start);

 private:
  /// What is known of a body.
  struct Body {
    runtime::BodyTimeline timeline;
    std::vector<std::vector<CounterStep>> cmxFill;  ///< by tile
  };
  NpuTrace(const blob::Blob& blob, TraceFile& trace) : blob_(&blob), trace_(&trace) {}
  Result<const Body*> bodyOf(uint32_t body);
  Status addTasks(const Body& body, uint32_t layer, uint64_t start);
  Status addCounters(const Body& body, uint64_t start);

  const blob::Blob* blob_;
  TraceFile* trace_;
  machine::Machine machine_;
  std::map<uint32_t, Body> bodies_;
};

}  // namespace firn::tools
