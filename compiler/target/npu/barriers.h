// The waits and signals that hold a plan's dependencies where the order of the queues alone does not, with no wait that
// another one implies.
#pragma once

#include <cstdint>
#include <vector>

#include "blob/machine/timeline.h"
#include "compiler/target/npu/dependencies.h"
#include "compiler/target/npu/task_order.h"

namespace firn::target {

struct Synchronization {
  std::vector<std::vector<machine::Wait>> waits;  ///< of each task, at most one on each other queue
  std::vector<std::vector<uint16_t>> signals;     ///< of each task: its queue's barrier if another queue waits for it
};

/// Each queue that others wait for has one barrier, which counts those of its tasks that are waited for. A queue ends
/// its tasks in order, so a count of n says that the first n of them have ended, whatever the others do: the barrier is
/// used again for each signal, and every later use comes after all earlier ones. So the machine needs no more barriers
/// than queues, and no task waits for more than it depends on. resource_exhausted, with the queues, where it has fewer.
Result<Synchronization> synchronize(const Dependencies& dependencies, const TaskOrder& order,
                                    const machine::Machine& machine);

}  // namespace firn::target
