#include "compiler/target/npu/schedule_program.h"

#include <bit>

#include "base/concat.h"

namespace firn::target {
namespace {

/// One region in DDR, or one in each tile.
void addRegions(const PlanBuffer& buffer, const PlanAccess& access, CheckRegion region, CheckTask& task) {
  const uint64_t place = access.firstRow * access.rowBytes + access.firstByte;
  region.value = access.buffer;
  region.place = place;
  region.address += place;
  region.bytes = access.bytes;
  region.isWrite = access.isWrite;
  if (access.rows > 1) region.dims = {{.count = access.rows, .strideBytes = access.rowBytes}};
  if (buffer.tiles == 0) task.regions.push_back(region);
  for (uint64_t rest = buffer.tiles & access.tiles; rest != 0; rest &= rest - 1) {
    region.memory = 1 + static_cast<uint32_t>(std::countr_zero(rest));
    task.regions.push_back(region);
  }
}

}  // namespace

CheckProgram programOf(const Plan& plan, const Schedule& schedule, const machine::Machine& machine) {
  CheckProgram program;
  program.barriers = machine.barriers;
  program.queues = schedule.queues;
  program.memories.push_back({"DDR scratch", schedule.scratchBytes, false});
  for (uint32_t tile = 0; tile < machine.tiles; ++tile) {
    program.memories.push_back({concat("the CMX of tile ", tile), machine.cmxBytes, false});
  }
  std::vector<uint32_t> memoryOf(plan.buffers.size());
  for (uint32_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanBuffer& buffer = plan.buffers[i];
    program.values.push_back({buffer.name, buffer.bytes});
    if (!buffer.isFixed) continue;
    memoryOf[i] = static_cast<uint32_t>(program.memories.size());
    program.memories.push_back({concat("buffer '", buffer.name, "'"), buffer.bytes, true});
  }
  for (uint32_t i = 0; i < plan.tasks.size(); ++i) {
    CheckTask task{plan.tasks[i].name, {}, schedule.waits[i], schedule.signals[i]};
    for (const PlanAccess& access : plan.tasks[i].accesses) {
      CheckRegion region;
      region.memory = memoryOf[access.buffer];
      region.address = schedule.addresses[access.buffer];
      addRegions(plan.buffers[access.buffer], access, region, task);
    }
    program.tasks.push_back(std::move(task));
  }
  return program;
}

}  // namespace firn::target
