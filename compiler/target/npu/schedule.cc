#include "compiler/target/npu/schedule.h"

#include <optional>
#include <utility>

#include "compiler/target/npu/barriers.h"
#include "compiler/target/npu/dependencies.h"

namespace firn::target {
namespace {

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

Result<Ordered> orderPlan(const Plan& plan, const machine::Machine& machine) {
  FIRN_RETURN_IF_ERROR(checkPlan(plan, machine));
  FIRN_ASSIGN_OR_RETURN(std::vector<BufferPlacement> placements, placeBuffers(plan, machine));
  std::optional<Ordered> best;
  for (BufferPlacement& placement : placements) {
    TaskOrder order = orderTasks(plan, dependenciesOf(plan, placement.addresses), machine);
    if (best && best->order.picoseconds <= order.picoseconds) continue;
    best = Ordered{std::move(placement), std::move(order)};
  }
  return *std::move(best);
}

Status synchronizePlan(const Plan& plan, const machine::Machine& machine, Schedule& schedule) {
  const Dependencies dependencies = dependenciesOf(plan, schedule.addresses);
  FIRN_ASSIGN_OR_RETURN(const TaskOrder order, orderOfQueues(schedule.queues, dependencies));
  FIRN_ASSIGN_OR_RETURN(Synchronization synchronization, synchronize(dependencies, order, machine));
  schedule.waits = std::move(synchronization.waits);
  schedule.signals = std::move(synchronization.signals);
  FIRN_ASSIGN_OR_RETURN(schedule.picoseconds, durationOf(plan, machine, schedule));
  return Status::ok();
}

Result<Schedule> schedulePlan(const Plan& plan, const machine::Machine& machine) {
  FIRN_ASSIGN_OR_RETURN(Ordered ordered, orderPlan(plan, machine));
  Schedule schedule;
  schedule.addresses = std::move(ordered.placement.addresses);
  schedule.scratchBytes = ordered.placement.scratchBytes;
  schedule.queues = std::move(ordered.order.queues);
  FIRN_RETURN_IF_ERROR(synchronizePlan(plan, machine, schedule));
  return schedule;
}

}  // namespace firn::target
