// A scheduled body of the NPU: every address, the order on every queue, and the barriers between them.
#pragma once

#include <cstdint>
#include <vector>

#include "blob/machine/timeline.h"
#include "compiler/target/npu/buffer_placement.h"
#include "compiler/target/npu/plan.h"
#include "compiler/target/npu/task_order.h"

namespace firn::target {

struct Schedule {
  std::vector<uint64_t> addresses;                ///< of each buffer, in all its tiles or in DDR scratch; 0 if fixed
  uint64_t scratchBytes = 0;                      ///< of DDR
  std::vector<std::vector<uint32_t>> queues;      ///< the tasks of each queue of the machine, in their order
  std::vector<std::vector<machine::Wait>> waits;  ///< of each task
  std::vector<std::vector<uint16_t>> signals;     ///< of each task
  uint64_t picoseconds = 0;                       ///< of the whole body, by blob/machine/timeline.h
};

/// A placement and the order that it lets the tasks have.
struct Ordered {
  BufferPlacement placement;
  TaskOrder order;
};

/// The placement that lets the tasks end the earliest. resource_exhausted where memory does not suffice, with names and
/// what to change; internal for a plan that contradicts itself.
Result<Ordered> orderPlan(const Plan& plan, const machine::Machine& machine);

/// Waits, signals and the time of an order: `schedule` comes with addresses and queues, and goes with all of it.
/// resource_exhausted where barriers do not suffice; internal for queues that cannot run.
Status synchronizePlan(const Plan& plan, const machine::Machine& machine, Schedule& schedule);

/// Both, one after the other. The same plan gives the same schedule.
Result<Schedule> schedulePlan(const Plan& plan, const machine::Machine& machine);

}  // namespace firn::target
