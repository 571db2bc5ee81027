#include "compiler/target/npu/schedule.h"

#include <optional>
#include <utility>

#include "compiler/target/npu/barriers.h"
#include "compiler/target/npu/buffer_placement.h"
#include "compiler/target/npu/dependencies.h"
#include "compiler/target/npu/task_order.h"

namespace firn::target {
namespace {

/// A placement and the order that it lets the tasks have.
struct Ordered {
  BufferPlacement placement;
  Dependencies dependencies;
  TaskOrder order;
};

Result<uint64_t> durationOf(const Plan& plan, const machine::Machine& machine, const Schedule& schedule) {
  std::vector<machine::TimelineTask> tasks;
  tasks.reserve(plan.tasks.size());
  for (uint32_t queue = 0; queue < schedule.queues.size(); ++queue) {
    for (const uint32_t task : schedule.queues[queue]) {
      tasks.push_back({.queue = static_cast<uint16_t>(queue),
                       .work = plan.tasks[task].work,
                       .waits = schedule.waits[task],
                       .signals = schedule.signals[task]});
    }
  }
  FIRN_ASSIGN_OR_RETURN(const machine::Timeline timeline, machine::runTimeline(machine, tasks));
  return timeline.picoseconds;
}

}  // namespace

Result<Schedule> schedulePlan(const Plan& plan, const machine::Machine& machine) {
  FIRN_RETURN_IF_ERROR(checkPlan(plan, machine));
  FIRN_ASSIGN_OR_RETURN(std::vector<BufferPlacement> placements, placeBuffers(plan, machine));
  std::optional<Ordered> best;
  for (BufferPlacement& placement : placements) {
    Dependencies dependencies = dependenciesOf(plan, placement.addresses);
    TaskOrder order = orderTasks(plan, dependencies, machine);
    if (best && best->order.picoseconds <= order.picoseconds) continue;
    best = Ordered{std::move(placement), std::move(dependencies), std::move(order)};
  }
  FIRN_ASSIGN_OR_RETURN(Synchronization synchronization, synchronize(best->dependencies, best->order, machine));
  Schedule schedule{.addresses = std::move(best->placement.addresses),
                    .scratchBytes = best->placement.scratchBytes,
                    .queues = std::move(best->order.queues),
                    .waits = std::move(synchronization.waits),
                    .signals = std::move(synchronization.signals)};
  FIRN_ASSIGN_OR_RETURN(schedule.picoseconds, durationOf(plan, machine, schedule));
  return schedule;
}

}  // namespace firn::target
