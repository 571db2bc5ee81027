// Deals a plan's tasks out to the queues of the machine, by a simulated run: what an engine takes next, it takes when
// it is idle, from what is ready then. Not here: barriers (barriers.h), and the exact times (blob/machine/timeline.h).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/target/npu/dependencies.h"
#include "compiler/target/npu/plan.h"

namespace firn::target {

struct TaskOrder {
  std::vector<std::vector<uint32_t>>
      queues;                     ///< the tasks of each queue of the machine, in the order in which they run
  std::vector<uint32_t> starts;   ///< all tasks as they started: none before one that it must follow
  std::vector<uint32_t> queueOf;  ///< of each task
  double picoseconds = 0;         ///< of the simulated run
};

/// An idle DPU or SHAVE takes the first of its ready tasks in the program. An idle DMA engine takes the ready task
/// whose bytes are needed first in the program: activations between tiles go before loads for later, and loads run as
/// far ahead as memory lets them. Deterministic; O(n log n) for n tasks, and their dependencies.
TaskOrder orderTasks(const Plan& plan, const Dependencies& dependencies, const machine::Machine& machine);

/// An order again, from its queues alone: `starts` is one of those in which they can run, `picoseconds` is 0. internal,
/// with a task that never starts, where no such order is.
Result<TaskOrder> orderOfQueues(const std::vector<std::vector<uint32_t>>& queues, const Dependencies& dependencies);

}  // namespace firn::target
