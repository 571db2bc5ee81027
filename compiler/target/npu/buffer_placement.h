// The addresses of a plan's buffers: in CMX so that loads can run far ahead of their use, in DDR scratch so that little
// is taken. Buffers share bytes only where one's last access comes before the other's first in the program.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/target/npu/plan.h"

namespace firn::target {

struct BufferPlacement {
  std::vector<uint64_t> addresses;  ///< of each buffer; 0 where it is fixed or never touched
  uint64_t scratchBytes = 0;        ///< of DDR that the placed buffers take up
};

/// One or two placements, which differ in CMX; a simulated run tells which one lets the plan run faster.
/// - Where the last occupants died the longest ago: memory goes round, but a mixture of sizes leaves holes.
/// - The largest first, each with its place free for a number of tasks before its first use, the most that fits.
/// resource_exhausted where nothing fits, with the task at which memory runs out, what lives there, and the limit.
Result<std::vector<BufferPlacement>> placeBuffers(const Plan& plan, const machine::Machine& machine);

}  // namespace firn::target
