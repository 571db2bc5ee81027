#include "compiler/target/npu/lifetimes.h"

#include <algorithm>

#include "base/align.h"

namespace firn::target {

std::vector<Lifetime> lifetimesOf(const Plan& plan) {
  std::vector<Lifetime> lifetimes(plan.buffers.size());
  for (uint32_t task = 0; task < plan.tasks.size(); ++task) {
    for (const PlanAccess& access : plan.tasks[task].accesses) {
      Lifetime& lifetime = lifetimes[access.buffer];
      lifetime.first = std::min(lifetime.first, task);
      lifetime.last = task;
    }
  }
  return lifetimes;
}

uint64_t placedBytes(const PlanBuffer& buffer) { return roundUp(buffer.bytes, kPlacementBytes); }

}  // namespace firn::target
