#include "runtime/devices/npu/entry_timeline.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/concat.h"
#include "blob/names.h"
#include "blob/npu_task_cost.h"

namespace firn::runtime {
namespace {

using machine::Machine;
using machine::TimelineTask;

/// The tasks of a body as the event loop takes them.
struct BodyTasks {
  std::vector<TimelineTask> tasks;
  std::vector<machine::Wait> waits;
  std::vector<uint16_t> signals;
};

void addTask(const blob::Blob& blob, const Machine& machine, uint16_t queue, const blob::TaskRecord& task,
             BodyTasks& body) {
  const size_t firstWait = body.waits.size();
  const size_t firstSignal = body.signals.size();
  for (const blob::BarrierUse& use : blob.waitsOf(task)) {
    body.waits.push_back({.barrier = static_cast<uint16_t>(use.barrier), .count = use.count});
  }
  for (const blob::BarrierUse& use : blob.signalsOf(task)) body.signals.push_back(static_cast<uint16_t>(use.barrier));
  body.tasks.push_back({.queue = queue,
                        .work = blob::npuTaskWork(machine, static_cast<blob::TaskOp>(task.op), blob.operandsOf(task),
                                                  blob.attrsOf(task)),
                        .waits = std::span(body.waits).subspan(firstWait),
                        .signals = std::span(body.signals).subspan(firstSignal)});
}

BodyTasks tasksOf(const blob::Blob& blob, const Machine& machine, const blob::BodyRecord& body) {
  // The waits and signals of all tasks, so that the spans stay where they are.
  size_t waits = 0, signals = 0;
  const std::span<const blob::SegmentRecord> segments = blob.segmentsOf(body);
  for (const blob::SegmentRecord& segment : segments) {
    for (const blob::TaskRecord& task : blob.tasksOf(blob.lanesOf(segment).front())) {
      waits += task.waitCount;
      signals += task.signalCount;
    }
  }
  BodyTasks result;
  result.waits.reserve(waits);
  result.signals.reserve(signals);
  for (uint32_t queue = 0; queue < segments.size(); ++queue) {
    for (const blob::TaskRecord& task : blob.tasksOf(blob.lanesOf(segments[queue]).front())) {
      addTask(blob, machine, static_cast<uint16_t>(queue), task, result);
    }
  }
  return result;
}

/// The tasks that never start, told by name; empty when all do. Counters only grow, so the order in which queues are
/// looked at does not matter.
std::string deadlockText(const blob::Blob& blob, const Machine& machine, const BodyTasks& body, uint32_t firstTask) {
  std::vector<std::vector<uint32_t>> queues(machine::queueCount(machine));
  for (uint32_t i = 0; i < body.tasks.size(); ++i) queues[body.tasks[i].queue].push_back(i);
  for (auto& queue : queues) std::ranges::reverse(queue);  // the next one is the last
  std::vector<uint64_t> counters(machine.barriers);
  const auto isMissing = [&](const machine::Wait& wait) { return counters[wait.barrier] < wait.count; };
  for (bool hasMoved = true; hasMoved;) {
    hasMoved = false;
    for (auto& queue : queues) {
      while (!queue.empty() && std::ranges::none_of(body.tasks[queue.back()].waits, isMissing)) {
        for (const uint16_t barrier : body.tasks[queue.back()].signals) ++counters[barrier];
        queue.pop_back();
        hasMoved = true;
      }
    }
  }
  std::string text;
  for (uint16_t queue = 0; queue < queues.size(); ++queue) {
    if (queues[queue].empty()) continue;
    const uint32_t task = queues[queue].back();
    const machine::Wait& wait = *std::ranges::find_if(body.tasks[task].waits, isMissing);
    text += concat(text.empty() ? "" : "; ", npuTaskText(blob, machine, firstTask + task, queue), " waits for barrier ",
                   wait.barrier, " to reach ", wait.count, ", it stays at ", counters[wait.barrier]);
  }
  return text;
}

/// Adds what a body costs, its time aside.
void addBody(const Machine& machine, const BodyTimeline& body, SimulatedRun& run) {
  run.ddrBytes += body.timeline.ddrBytes;
  run.macs += body.macs;
  for (uint32_t queue = 0; queue < body.timeline.queues.size(); ++queue) {
    EngineTime& engine = run.engines[static_cast<size_t>(machine::ownerOf(machine, queue).engine)];
    const machine::QueueTime& time = body.timeline.queues[queue];
    engine.busy += time.busy;
    engine.barrierWait += time.barrierWait;
    engine.idle += time.idle;
    engine.bandwidthWait += time.bandwidthWait;
  }
}

}  // namespace

std::string npuTaskText(const blob::Blob& blob, const Machine& machine, uint32_t task, uint16_t queue) {
  const blob::TaskRecord& record = blob.tasks()[task];
  return concat(blob.string(record.name), " (", blob::taskOpName(static_cast<blob::TaskOp>(record.op)), ", ",
                machine::queueName(machine, queue), ")");
}

Result<BodyTimeline> bodyTimelineOf(const blob::Blob& blob, const Machine& machine, uint32_t body) {
  const blob::BodyRecord& record = blob.bodies()[body];
  const BodyTasks tasks = tasksOf(blob, machine, record);
  BodyTimeline result;
  result.firstTask = blob.lanesOf(blob.segmentsOf(record).front()).front().firstTask;
  Result<machine::Timeline> timeline = machine::runTimeline(machine, tasks.tasks);
  if (!timeline) {
    const std::string stuck = deadlockText(blob, machine, tasks, result.firstTask);
    return corrupt(concat("body ", blob.string(record.name), " never ends: ",
                          stuck.empty() ? timeline.status().message() : stuck, "; compile the model again"));
  }
  result.timeline = *std::move(timeline);
  result.queues.reserve(tasks.tasks.size());
  for (uint32_t i = 0; i < tasks.tasks.size(); ++i) {
    const blob::TaskRecord& task = blob.tasks()[result.firstTask + i];
    result.queues.push_back(tasks.tasks[i].queue);
    result.macs += blob::npuTaskMacs(static_cast<blob::TaskOp>(task.op), blob.operandsOf(task));
  }
  return result;
}

Result<std::vector<BodyTimeline>> npuBodyTimelines(const blob::Blob& blob, const Machine& machine) {
  std::vector<bool> isCalled(blob.bodies().size());
  for (const blob::EntryRecord& entry : blob.entries()) {
    if (entry.target != blob::Target::kNpu) continue;
    for (const blob::CallRecord& call : blob.callsOf(entry)) isCalled[call.body] = true;
  }
  std::vector<BodyTimeline> bodies(isCalled.size());
  for (uint32_t body = 0; body < bodies.size(); ++body) {
    if (!isCalled[body]) continue;
    FIRN_ASSIGN_OR_RETURN(bodies[body], bodyTimelineOf(blob, machine, body));
  }
  return bodies;
}

Result<uint64_t> endOfCall(const blob::Blob& blob, const blob::EntryRecord& entry, const BodyTimeline& body,
                           uint64_t begin) {
  // Both are at most kMostPicoseconds, and two of these fit.
  if (begin + body.timeline.picoseconds <= kMostEntryPicoseconds) return begin + body.timeline.picoseconds;
  return corrupt(concat("entry ", blob.string(entry.name),
                        " takes more than 40 hours on its machine; compile the model again, for a faster one"));
}

Result<SimulatedRun> simulatedRunOf(const blob::Blob& blob, const Machine& machine, const blob::EntryRecord& entry,
                                    const std::vector<BodyTimeline>& bodies) {
  SimulatedRun run;
  for (const blob::CallRecord& call : blob.callsOf(entry)) {
    FIRN_ASSIGN_OR_RETURN(run.picoseconds, endOfCall(blob, entry, bodies[call.body], run.picoseconds));
    addBody(machine, bodies[call.body], run);
  }
  return run;
}

}  // namespace firn::runtime
