#include "tools/timeline/layer_timeline.h"

#include <algorithm>

#include "base/concat.h"
#include "blob/names.h"

namespace firn::tools {

Result<LayerTimeline> LayerTimeline::read(const blob::Blob& blob, const TimelineChoice& choice) {
  const blob::EntryRecord& entry = blob.entries()[choice.entry];
  if (entry.target != blob::Target::kNpu) {
    return invalidArgument(concat(blob.path(), ": entry ", blob.string(entry.name), " is for device ",
                                  blob::targetName(entry.target), "; only one for npu has a timeline"));
  }
  FIRN_ASSIGN_OR_RETURN(machine::Machine machine, machine::parseMachine(blob.machine(), blob.path()));
  LayerTimeline timeline(blob, std::move(machine));
  for (const blob::CallRecord& call : blob.callsOf(entry)) {
    if (call.layer != choice.layer) continue;
    if (const Status status = timeline.add(entry, call.body); !status.isOk()) return status.withPlace(blob.path());
  }
  const bool isLayer = choice.layer != blob::kNoLayer;
  if (timeline.tasks_.empty()) {
    return notFound(concat(blob.path(), ": entry ", blob.string(entry.name), " has no tasks ",
                           isLayer ? concat("of layer ", choice.layer) : std::string("outside its layers")));
  }
  timeline.name_ = concat(blob.string(entry.name), isLayer ? concat(", layer ", choice.layer) : std::string(), " on ",
                          timeline.machine_.name);
  return timeline;
}

Status LayerTimeline::add(const blob::EntryRecord& entry, uint32_t index) {
  const auto [known, isNew] = bodies_.try_emplace(index);
  runtime::BodyTimeline& body = known->second.timeline;
  if (isNew) {
    FIRN_ASSIGN_OR_RETURN(body, runtime::bodyTimelineOf(*blob_, machine_, index));
    known->second.uses = runtime::cmxUsesOf(*blob_, body);
  }
  const size_t tasks = tasks_.size() + body.timeline.order.size();
  const size_t uses = uses_.size() + known->second.uses.size();
  if (std::max(tasks, uses) > kMostBoxes) {
    return resourceExhausted(
        concat("entry ", blob_->string(entry.name), " has more than ", kMostBoxes,
               " tasks or uses of CMX in these calls, too many for a picture; draw another layer or entry"));
  }
  for (const uint32_t i : body.timeline.order) {
    const machine::Interval& interval = body.timeline.tasks[i];
    tasks_.push_back({body.firstTask + i, body.queues[i], picoseconds_ + interval.begin, picoseconds_ + interval.end});
  }
  for (runtime::CmxUse use : known->second.uses) {
    use.begin += picoseconds_;
    use.end += picoseconds_;
    uses_.push_back({use, body.firstTask + use.task});
  }
  FIRN_ASSIGN_OR_RETURN(picoseconds_, runtime::endOfCall(*blob_, entry, body, picoseconds_));
  return Status::ok();
}

std::pair<uint64_t, uint64_t> LayerTimeline::usedRange() const {
  std::pair<uint64_t, uint64_t> range = {machine_.cmxBytes, 0};
  for (const TimedUse& use : uses_) {
    range.first = std::min(range.first, use.use.first);
    range.second = std::max(range.second, use.use.first + use.use.bytes);
  }
  return range.first < range.second ? range : std::pair<uint64_t, uint64_t>{0, machine_.cmxBytes};
}

}  // namespace firn::tools
