#include "runtime/devices/reference/reference_device.h"

#include <string>

#include "runtime/devices/reference/reference_tasks.h"
#include "runtime/lane_walker.h"

namespace firn::runtime {
namespace {

class ReferenceExecutor final : public Executor {
 public:
  uint32_t threads() const override { return 1; }

  Status run(const LoadedProgram& program, const Entry& entry, const RunValues& values, TaskClock* clock) override {
    // One thread runs all lanes, one after the other: in a blob with another target they are that one's number.
    const LaneWork work = {.lanes = {.first = 0, .end = program.lanes()},
                           .cells = clock == nullptr ? nullptr : clock->cells(0)};
    walkLanes(program, entry, values, work, [] {});
    return Status::ok();
  }
};

class ReferenceBackend final : public Backend {
 public:
  DeviceInfo info() const override {
    return {.name = "reference", .instructionSet = "", .target = blob::Target::kReference, .maxThreads = 1};
  }

  const TaskTable* taskTable() const override { return &table_; }

  Result<std::unique_ptr<Executor>> admit(const blob::Blob& blob, const LoadOptions& options) override {
    FIRN_RETURN_IF_ERROR(checkTarget(blob, blob::Target::kReference, "reference"));
    if (options.threads > 1) {
      return invalidArgument(std::to_string(options.threads) + " threads asked for, device reference runs on 1");
    }
    return std::unique_ptr<Executor>(std::make_unique<ReferenceExecutor>());
  }

 private:
  TaskTable table_{.device = "reference", .find = findReferenceTask};
};

}  // namespace

Result<std::unique_ptr<Backend>> openReferenceBackend(const DeviceOptions&) {
  return std::unique_ptr<Backend>(std::make_unique<ReferenceBackend>());
}

}  // namespace firn::runtime
