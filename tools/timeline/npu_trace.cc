#include "tools/timeline/npu_trace.h"

#include <algorithm>

#include "base/concat.h"
#include "blob/npu_task_cost.h"

namespace firn::tools {
namespace {

constexpr uint32_t kGroup = 1;

/// What `amounts` (time, change) add up to, a step for each time at which it changes.
std::vector<CounterStep> summed(std::map<uint64_t, double> changes) {
  std::vector<CounterStep> steps;
  double value = 0;
  for (const auto& [time, change] : changes) {
    value += change;
    constexpr double kNothing = 1e-9;  // what rounding leaves of a sum of 0
    steps.push_back({time, value < kNothing ? 0 : value});
  }
  return steps;
}

}  // namespace

std::vector<CounterStep> cmxFillOf(std::span<const runtime::CmxUse> uses, uint32_t tile) {
  constexpr double kKibibyte = 1024;
  std::map<uint64_t, double> changes;
  for (const runtime::CmxUse& use : uses) {
    if (use.tile != tile) continue;
    changes[use.begin] += static_cast<double>(use.bytes) / kKibibyte;
    changes[use.end] -= static_cast<double>(use.bytes) / kKibibyte;
  }
  return summed(std::move(changes));
}

Result<NpuTrace> NpuTrace::create(const blob::Blob& blob, TraceFile& trace) {
  NpuTrace npu(blob, trace);
  if (blob.machine().empty()) return invalidArgument(concat(blob.path(), ": the blob is for no npu"));
  FIRN_ASSIGN_OR_RETURN(npu.machine_, machine::parseMachine(blob.machine(), blob.path()));
  FIRN_RETURN_IF_ERROR(trace.nameGroup(kGroup, concat("npu ", npu.machine_.name, ", simulated time")));
  FIRN_RETURN_IF_ERROR(trace.nameTrack(kGroup, 1, "entries"));
  for (uint32_t queue = 0; queue < machine::queueCount(npu.machine_); ++queue) {
    FIRN_RETURN_IF_ERROR(trace.nameTrack(kGroup, queue + 2, machine::queueName(npu.machine_, queue)));
  }
  return npu;
}

Result<const NpuTrace::Body*> NpuTrace::bodyOf(uint32_t body) {
  const auto [found, isNew] = bodies_.try_emplace(body);
  Body& result = found->second;
  if (!isNew) return &result;
  Result<runtime::BodyTimeline> timeline = runtime::bodyTimelineOf(*blob_, machine_, body);
  if (!timeline) return timeline.status().withPlace(blob_->path());
  result.timeline = *std::move(timeline);
  const std::vector<runtime::CmxUse> uses = runtime::cmxUsesOf(*blob_, result.timeline);
  for (uint32_t tile = 0; tile < machine_.tiles; ++tile) result.cmxFill.push_back(cmxFillOf(uses, tile));
  return &result;
}

Result<uint64_t> NpuTrace::add(uint32_t entry, uint64_t start) {
  const blob::EntryRecord& record = blob_->entries()[entry];
  uint64_t at = start;
  for (const blob::CallRecord& call : blob_->callsOf(record)) {
    FIRN_ASSIGN_OR_RETURN(const Body* body, bodyOf(call.body));
    FIRN_RETURN_IF_ERROR(addTasks(*body, call.layer, at));
    FIRN_RETURN_IF_ERROR(addCounters(*body, at));
    const Result<uint64_t> end = runtime::endOfCall(*blob_, record, body->timeline, at - start);
    if (!end) return end.status().withPlace(blob_->path());
    at = start + *end;
  }
  FIRN_RETURN_IF_ERROR(
      trace_->slice({.group = kGroup, .track = 1, .name = blob_->string(record.name), .begin = start, .end = at}));
  return at;
}

Status NpuTrace::addTasks(const Body& body, uint32_t layer, uint64_t start) {
  for (const uint32_t i : body.timeline.timeline.order) {
    const blob::TaskRecord& task = blob_->tasks()[body.timeline.firstTask + i];
    const auto op = static_cast<blob::TaskOp>(task.op);
    const machine::Work work = blob::npuTaskWork(machine_, op, blob_->operandsOf(task), blob_->attrsOf(task));
    const uint64_t macs = blob::npuTaskMacs(op, blob_->operandsOf(task));
    std::vector<std::pair<std::string_view, std::string>> args = {{"op", std::string(blob::taskOpName(op))}};
    if (layer != blob::kNoLayer) args.emplace_back("layer", std::to_string(layer));
    if (work.ddrBytes != 0) args.emplace_back("DDR bytes", std::to_string(work.ddrBytes));
    if (macs != 0) args.emplace_back("MACs", std::to_string(macs));
    const machine::Interval& interval = body.timeline.timeline.tasks[i];
    FIRN_RETURN_IF_ERROR(trace_->slice({.group = kGroup,
                                        .track = body.timeline.queues[i] + 2U,
                                        .name = blob_->string(task.name),
                                        .begin = start + interval.begin,
                                        .end = start + interval.end},
                                       args));
  }
  return Status::ok();
}

Status NpuTrace::addCounters(const Body& body, uint64_t start) {
  for (const machine::DdrRate& rate : body.timeline.timeline.ddrRates) {
    const double value = static_cast<double>(rate.megabytesPerSecond) * 1e-3;
    FIRN_RETURN_IF_ERROR(trace_->count(kGroup, "DDR", "GB/s", start + rate.time, value));
  }
  for (uint32_t tile = 0; tile < body.cmxFill.size(); ++tile) {
    for (const CounterStep& step : body.cmxFill[tile]) {
      FIRN_RETURN_IF_ERROR(trace_->count(kGroup, concat("CMX of tile ", tile), "KiB", start + step.time, step.value));
    }
  }
  return Status::ok();
}

}  // namespace firn::tools
