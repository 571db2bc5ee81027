// A scheduled body of the NPU: every address, the order on every queue, and the barriers between them.
#pragma once

#include <cstdint>
#include <vector>

#include "blob/machine/timeline.h"
#include "compiler/target/npu/plan.h"

namespace firn::target {

struct Schedule {
  std::vector<uint64_t> addresses;                ///< of each buffer, in all its tiles or in DDR scratch; 0 if fixed
  uint64_t scratchBytes = 0;                      ///< of DDR
  std::vector<std::vector<uint32_t>> queues;      ///< the tasks of each queue of the machine, in their order
  std::vector<std::vector<machine::Wait>> waits;  ///< of each task
  std::vector<std::vector<uint16_t>> signals;     ///< of each task
  uint64_t picoseconds = 0;                       ///< of the whole body, by blob/machine/timeline.h
};

/// Places, orders and synchronizes the tasks of a plan. The same plan gives the same schedule. resource_exhausted where
/// memory or barriers do not suffice, with names and what to change; internal for a plan that contradicts itself.
Result<Schedule> schedulePlan(const Plan& plan, const machine::Machine& machine);

}  // namespace firn::target
