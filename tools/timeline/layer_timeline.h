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

namespace firn::tools {

/// What is drawn: the calls of one layer of an entry for the npu, one behind the other; blob::kNoLayer: the calls that
/// belong to none, such as the input, the output and a head.
struct TimelineChoice {
  uint32_t entry = 0;
  uint32_t layer = 0;
};

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

/// Tasks, or uses of CMX, of a picture; a layer has some thousands. A body may be called any number of times.
inline constexpr size_t kMostBoxes = 1'000'000;

class LayerTimeline {
 public:
  /// `blob` must outlive it. invalid_argument: the entry is for another target; not_found: it has no such calls;
  /// corrupt: tasks that never end, or in a time beyond all measure; resource_exhausted: more than kMostBoxes.
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
  /// One run of a body, the same for all its calls.
  struct Body {
    runtime::BodyTimeline timeline;
    std::vector<runtime::CmxUse> uses;
  };
  LayerTimeline(const blob::Blob& blob, machine::Machine machine) : blob_(&blob), machine_(std::move(machine)) {}
  Status add(const blob::EntryRecord& entry, uint32_t body);

  const blob::Blob* blob_;
  machine::Machine machine_;
  std::map<uint32_t, Body> bodies_;
  std::vector<TimedTask> tasks_;
  std::vector<TimedUse> uses_;
  uint64_t picoseconds_ = 0;
  std::string name_;
};

}  // namespace firn::tools
