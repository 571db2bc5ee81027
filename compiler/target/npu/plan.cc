#include "compiler/target/npu/plan.h"

#include "base/concat.h"

namespace firn::target {
namespace {

Status checkBuffer(const PlanBuffer& buffer, const machine::Machine& machine) {
  if (buffer.bytes == 0) return internalError(concat("buffer '", buffer.name, "' has no bytes"));
  if (machine.tiles < 64 && buffer.tiles >> machine.tiles != 0) {
    return internalError(concat("buffer '", buffer.name, "': its tiles ", buffer.tiles, " (a bit mask) go beyond the ",
                                machine.tiles, " tiles of ", machine.name));
  }
  if (buffer.isFixed && buffer.tiles != 0) {
    return internalError(concat("buffer '", buffer.name, "' is fixed and in CMX, where nothing outlives a body"));
  }
  return Status::ok();
}

Status checkAccess(const Plan& plan, const PlanAccess& access) {
  if (access.buffer >= plan.buffers.size()) {
    return internalError(concat("buffer ", access.buffer, " of ", plan.buffers.size(), " does not exist"));
  }
  const PlanBuffer& buffer = plan.buffers[access.buffer];
  const std::string place = concat("buffer '", buffer.name, "' of ", buffer.bytes, " bytes: ");
  if (buffer.tiles != 0 && (access.tiles == 0 || (access.tiles & ~buffer.tiles) != 0)) {
    return internalError(concat(place, "tiles ", access.tiles, " are not among its tiles ", buffer.tiles));
  }
  if (access.rows == 0 || access.bytes == 0) return internalError(concat(place, "an access without bytes"));
  const bool hasRows = access.rows > 1;
  if (hasRows && (access.firstByte > access.rowBytes || access.bytes > access.rowBytes - access.firstByte)) {
    return internalError(
        concat(place, "bytes ", access.firstByte, " + ", access.bytes, " leave a row of ", access.rowBytes, " bytes"));
  }
  const unsigned __int128 end = (static_cast<unsigned __int128>(access.firstRow) + access.rows - 1) * access.rowBytes +
                                access.firstByte + access.bytes;
  if (end > buffer.bytes) {
    return internalError(concat(place, "rows ", access.firstRow, " + ", access.rows, " of ", access.rowBytes,
                                " bytes, of each bytes ", access.firstByte, " + ", access.bytes, ", leave it"));
  }
  return Status::ok();
}

Status checkTask(const Plan& plan, const PlanTask& task, const machine::Machine& machine) {
  if (task.engine != machine::Engine::kDma && task.tile >= machine.tiles) {
    return internalError(concat("tile ", task.tile, " of ", machine.tiles, " does not exist"));
  }
  for (const PlanAccess& access : task.accesses) FIRN_RETURN_IF_ERROR(checkAccess(plan, access));
  return Status::ok();
}

}  // namespace

Status checkPlan(const Plan& plan, const machine::Machine& machine) {
  for (const PlanBuffer& buffer : plan.buffers) FIRN_RETURN_IF_ERROR(checkBuffer(buffer, machine));
  for (const PlanTask& task : plan.tasks) {
    if (Status status = checkTask(plan, task, machine); !status.isOk()) {
      return status.withPlace(concat("task '", task.name, "'"));
    }
  }
  return Status::ok();
}

}  // namespace firn::target
