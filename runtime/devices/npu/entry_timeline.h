// When the tasks of a body or an entry run on the machine of their blob. Nothing is computed and no weight is read:
// this is what the device goes by, and what a simulation without values prints. Not here: the event loop
// (blob/machine/timeline.h), what tasks cost (blob/npu_task_cost.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "blob/machine/machine.h"
#include "blob/machine/timeline.h"
#include "blob/reader.h"
#include "blob/task_op.h"
#include "runtime/simulated_time.h"

namespace firn::runtime {

/// One run of a body. What a task costs does not depend on values or arguments, so all its calls are like this.
struct BodyTimeline {
  uint32_t firstTask = 0;        ///< task i here is task firstTask + i of the blob
  std::vector<uint16_t> queues;  ///< of each task
  machine::Timeline timeline;
  uint64_t macs = 0;
};

/// `body` must be one that an entry for the npu calls. corrupt, naming the tasks that wait for each other or the time
/// that is beyond all measure.
Result<BodyTimeline> bodyTimelineOf(const blob::Blob& blob, const machine::Machine& machine, uint32_t body);

/// The timelines of all bodies that entries for the npu call, by index; those of other bodies are empty.
Result<std::vector<BodyTimeline>> npuBodyTimelines(const blob::Blob& blob, const machine::Machine& machine);

/// One run of an entry: its calls one behind the other. The sums of the timelines of their bodies.
SimulatedRun simulatedRunOf(const blob::Blob& blob, const machine::Machine& machine, const blob::EntryRecord& entry,
                            const std::vector<BodyTimeline>& bodies);

/// A task as a trace shows it. Texts live as long as the blob.
struct SimulatedTask {
  std::string_view name;  ///< the graph op it came from: "attn_q"
  blob::TaskOp op{};
  uint16_t queue = 0;
  uint32_t layer = 0;  ///< of the call, or blob::kNoLayer
  uint64_t begin = 0;  ///< picoseconds from the start of the entry
  uint64_t end = 0;
  uint64_t bytes = 0;     ///< of a DMA: moved
  uint64_t ddrBytes = 0;  ///< the part of them that passes DDR: all or none
  uint64_t macs = 0;
};

/// One run of an entry, task by task.
struct EntryTimeline {
  machine::Machine machine;
  SimulatedRun run;
  std::vector<machine::QueueTime> queues;  ///< of each queue of the machine, over all calls
  std::vector<SimulatedTask> tasks;        ///< by begin
};

/// The timeline of entry `entry` (index into blob.entries()), which must be for the npu: invalid_argument otherwise;
/// corrupt as above. Takes time and memory that grow with its tasks, some 100 bytes each.
Result<EntryTimeline> timelineOf(const blob::Blob& blob, uint32_t entry);

/// "attn_q (npu.matmul, dpu 0)".
std::string npuTaskText(const blob::Blob& blob, const machine::Machine& machine, uint32_t task, uint16_t queue);

}  // namespace firn::runtime
