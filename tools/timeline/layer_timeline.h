// What a picture of a schedule shows: the tasks of some calls of an entry over time, and what lies in CMX meanwhile.
// Not here: how it is drawn (timeline_svg.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "blob/machine/machine.h"
#include "blob/reader.h"
#include "runtime/devices/npu/cmx_use.h"
#include "runtime/devices/npu/entry_timeline.h"
#include "tools/timeline/timeline_svg.h"

namespace firn::tools {

/// A task of one of the calls. Times are picoseconds from the start of the first of them.
struct TimedTask {
  uint32_t task = 0;  ///< of the blob
  uint16_t queue = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// A use of CMX by one of the calls, in the same time.
struct TimedUse {
  runtime::CmxUse use;
  uint32_t task = 0;  ///< of the blob: who wrote it
};

class LayerTimeline {
 public:
  /// Errors: those of timelineSvg. `blob` must outlive it.
  static Result<LayerTimeline> read(const blob::Blob& blob, const TimelineChoice& choice);

  const machine::Machine& machine() const { return machine_; }
  const std::vector<TimedTask>& tasks() const { return tasks_; }  ///< call by call, by begin
  const std::vector<TimedUse>& uses() const { return uses_; }
  uint64_t picoseconds() const { return picoseconds_; }
  /// "prefill.64.256, layer 0 on lnl".
  const std::string& name() const { return name_; }
  /// The bytes between the lowest and the highest that any tile uses.
  std::pair<uint64_t, uint64_t> usedRange() const;

 private:
  LayerTimeline(const blob::Blob& blob, machine::Machine machine) : blob_(&blob), machine_(std::move(machine)) {}
  Status add(const blob::EntryRecord& entry, uint32_t body);

  const blob::Blob* blob_;
  machine::Machine machine_;
  std::map<uint32_t, runtime::BodyTimeline> bodies_;
  std::vector<TimedTask> tasks_;
  std::vector<TimedUse> uses_;
  uint64_t picoseconds_ = 0;
  std::string name_;
};

}  // namespace firn::tools
