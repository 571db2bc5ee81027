// When the tasks of a body or an entry run on the machine of their blob. Nothing is computed and no weight is read:
// this is what the device goes by, and what a simulation without values prints. Not here: the event loop
// (blob/machine/timeline.h), what tasks cost (blob/npu_task_cost.h). Messages do not name the blob.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "blob/machine/machine.h"
#include "blob/machine/timeline.h"
#include "blob/reader.h"
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

/// No entry takes longer, some 40 hours: so no sum over its queues wraps, which are at most 64.
inline constexpr uint64_t kMostEntryPicoseconds = machine::kMostPicoseconds / 16;

/// When a call of `body` ends that begins at `begin`: picoseconds from the start of the entry, whose calls run one
/// behind the other. corrupt: beyond kMostEntryPicoseconds.
Result<uint64_t> endOfCall(const blob::Blob& blob, const blob::EntryRecord& entry, const BodyTimeline& body,
                           uint64_t begin);

/// One run of an entry: the sums of the timelines of the bodies that it calls. Errors: those of endOfCall.
Result<SimulatedRun> simulatedRunOf(const blob::Blob& blob, const machine::Machine& machine,
                                    const blob::EntryRecord& entry, const std::vector<BodyTimeline>& bodies);

/// "attn_q (npu.matmul, dpu 0)".
std::string npuTaskText(const blob::Blob& blob, const machine::Machine& machine, uint32_t task, uint16_t queue);

}  // namespace firn::runtime
