// One run of an entry task by task, for tests: what the sums of entry_timeline.h are held against.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "blob/npu_task_cost.h"
#include "blob/reader.h"
#include "blob/task_op.h"
#include "runtime/devices/npu/entry_timeline.h"

namespace firn::runtime {

struct SimulatedTask {
  std::string_view name;
  blob::TaskOp op{};
  uint16_t queue = 0;
  uint32_t layer = 0;
  uint64_t begin = 0;  ///< picoseconds from the start of the entry
  uint64_t end = 0;
  uint64_t ddrBytes = 0;
  uint64_t macs = 0;
};

struct EntryTimeline {
  SimulatedRun run;                        ///< what simulatedRunOf gives
  std::vector<machine::QueueTime> queues;  ///< of each queue of the machine, over all calls
  std::vector<SimulatedTask> tasks;        ///< call by call, by begin
};

/// The tasks of one call, which begins at `start`.
inline void addTasks(const blob::Blob& blob, const machine::Machine& machine, const BodyTimeline& body, uint64_t start,
                     EntryTimeline& entry) {
  for (const uint32_t i : body.timeline.order) {
    const blob::TaskRecord& task = blob.tasks()[body.firstTask + i];
    const auto op = static_cast<blob::TaskOp>(task.op);
    const auto operands = blob.operandsOf(task);
    entry.tasks.push_back({.name = blob.string(task.name),
                           .op = op,
                           .queue = body.queues[i],
                           .begin = start + body.timeline.tasks[i].begin,
                           .end = start + body.timeline.tasks[i].end,
                           .ddrBytes = blob::npuTaskWork(machine, op, operands, blob.attrsOf(task)).ddrBytes,
                           .macs = blob::npuTaskMacs(op, operands)});
  }
}

/// The run of entry `index`, which is for the npu.
inline Result<EntryTimeline> timelineOf(const blob::Blob& blob, uint32_t index) {
  FIRN_ASSIGN_OR_RETURN(const machine::Machine machine, machine::parseMachine(blob.machine(), "test"));
  FIRN_ASSIGN_OR_RETURN(const std::vector<BodyTimeline> bodies, npuBodyTimelines(blob, machine));
  EntryTimeline entry;
  entry.queues.resize(machine::queueCount(machine));
  uint64_t start = 0;
  for (const blob::CallRecord& call : blob.callsOf(blob.entries()[index])) {
    const BodyTimeline& body = bodies[call.body];
    const size_t first = entry.tasks.size();
    addTasks(blob, machine, body, start, entry);
    for (SimulatedTask& task : std::span(entry.tasks).subspan(first)) task.layer = call.layer;
    for (size_t queue = 0; queue < entry.queues.size(); ++queue) {
      const machine::QueueTime& time = body.timeline.queues[queue];
      entry.queues[queue].busy += time.busy;
      entry.queues[queue].barrierWait += time.barrierWait;
      entry.queues[queue].idle += time.idle;
    }
    start += body.timeline.picoseconds;
  }
  FIRN_ASSIGN_OR_RETURN(entry.run, simulatedRunOf(blob, machine, blob.entries()[index], bodies));
  return entry;
}

}  // namespace firn::runtime
