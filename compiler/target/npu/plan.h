// A body of the NPU before it is scheduled: which bytes each task reads and writes, on which engine it runs and what it
// costs. Not here: addresses, the order on the engines, barriers (schedule.h makes them), and what a task computes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "blob/machine/cost.h"
#include "blob/machine/machine.h"

namespace firn::target {

/// A piece of memory that lives from its first to its last access.
struct PlanBuffer {
  std::string name;
  uint64_t bytes = 0;
  uint64_t tiles = 0;  ///< mask of the tiles whose CMX holds it, at the same offset in each; 0: it lies in DDR scratch
  bool isFixed =
      false;  ///< lies where others say (KV cache, symbols, scratch that outlives the body); never placed here
};

/// A rectangle of a buffer's bytes: rows at a distance of `rowBytes`, of each the bytes [firstByte, firstByte + bytes).
/// A stretch without rows is one row. Weights in DDR are no accesses: nothing ever writes them.
struct PlanAccess {
  uint32_t buffer = 0;
  bool isWrite = false;
  uint64_t tiles = 0;  ///< in which of the buffer's tiles; not looked at in DDR
  uint64_t firstRow = 0;
  uint64_t rows = 1;
  uint64_t rowBytes = 0;  ///< at least firstByte + bytes where there are several rows
  uint64_t firstByte = 0;
  uint64_t bytes = 0;
};

struct PlanTask {
  std::string name;
  machine::Engine engine = machine::Engine::kDma;
  uint32_t tile = 0;  ///< of a DPU or SHAVE task; a DMA task runs on any DMA engine
  machine::Work work;
  std::vector<PlanAccess> accesses;
};

/// Running the tasks one after the other, in their order, is right.
struct Plan {
  std::vector<PlanBuffer> buffers;
  std::vector<PlanTask> tasks;
};

/// internal, naming task and buffer, where an index, a tile or a rectangle leaves its range: the plan's maker is wrong.
Status checkPlan(const Plan& plan, const machine::Machine& machine);

}  // namespace firn::target
