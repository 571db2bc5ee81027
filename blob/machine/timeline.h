// When each task of a body runs: the event loop of the npu target. The compiler plans with it and the device reports
// it, so both give the same picosecond. Only integers: the same tasks give the same times everywhere. docs/npu.md says
// the rules in words. Not here: what tasks cost (cost.h), what they compute.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "blob/machine/cost.h"
#include "blob/machine/machine.h"

namespace firn::machine {

/// Holds when the counter of the barrier has reached `count`.
struct Wait {
  uint16_t barrier = 0;
  uint32_t count = 0;
};

/// A task on a queue; the tasks of one queue run in the order of the list. It starts when it is first in its queue, the
/// queue is idle, all `waits` hold and the call has started (Machine::callStartNs); when it ends it adds 1 to each
/// counter of `signals`.
struct TimelineTask {
  uint16_t queue = 0;
  Work work;
  std::span<const Wait> waits;
  std::span<const uint16_t> signals;
};

/// Picoseconds from the call of the body.
struct Interval {
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// What a queue did with its time, in picoseconds: busy + barrierWait + idle is the time of the body.
struct QueueTime {
  uint64_t busy = 0;
  uint64_t barrierWait = 0;    ///< its next task waited for a barrier
  uint64_t idle = 0;           ///< no task was left, or the call was being started
  uint64_t bandwidthWait = 0;  ///< a part of busy: transfers beyond what the engine alone would have taken
  uint64_t ddrBytes = 0;
};

/// What the DMA engines together move from and to DDR, from `time` on, MB/s (10^6 bytes).
struct DdrRate {
  uint64_t time = 0;
  uint64_t megabytesPerSecond = 0;
};

struct Timeline {
  std::vector<Interval> tasks;  ///< one for each task given
  /// Tasks by begin; of those that begin together by queue, except that one that waited for a task of no length comes
  /// after it. To execute them in this order is right.
  std::vector<uint32_t> order;
  uint64_t picoseconds = 0;  ///< until the last task has ended
  uint64_t ddrBytes = 0;
  std::vector<QueueTime> queues;  ///< queueCount
  std::vector<DdrRate> ddrRates;  ///< each time it changes
};

/// Runs the tasks from counters of 0, in time that grows with the tasks (100,000 on six tiles take 7 ms). Errors:
/// internal for tasks that no machine could run: a queue or barrier that it lacks, a deadlock (the message names the
/// tasks that wait, by index), a time above kMostPicoseconds. A plan with more barriers than the machine has can be run
/// on a copy of it with `barriers` raised.
Result<Timeline> runTimeline(const Machine& machine, std::span<const TimelineTask> tasks);

}  // namespace firn::machine
