#include "runtime/devices/npu/npu_device.h"

#include <string>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "runtime/devices/npu/entry_timeline.h"
#include "runtime/devices/npu/npu_tasks.h"
#include "runtime/devices/npu/npu_views.h"
#include "runtime/devices/npu/run_checker.h"
#include "runtime/instruction_set.h"

namespace firn::runtime {
namespace {

/// What is known of a program once its blob is: when everything runs, and what it costs.
struct Schedule {
  machine::Machine machine;
  std::vector<BodyTimeline> bodies;  ///< by index; of bodies for other targets empty
  std::vector<SimulatedRun> runs;    ///< of each entry of the blob
};

/// Messages do not name the blob.
Result<Schedule> scheduleOf(const blob::Blob& blob) {
  Schedule schedule;
  FIRN_ASSIGN_OR_RETURN(schedule.machine, machine::parseMachine(blob.machine(), blob::kMachineSection));
  FIRN_ASSIGN_OR_RETURN(schedule.bodies, npuBodyTimelines(blob, schedule.machine));
  for (const blob::EntryRecord& entry : blob.entries()) {
    FIRN_ASSIGN_OR_RETURN(SimulatedRun run, simulatedRunOf(blob, schedule.machine, entry, schedule.bodies));
    schedule.runs.push_back(run);
  }
  return schedule;
}

/// Adds the simulated time of one call to the cells of its tasks.
void measure(const LoadedProgram& program, const BodyTimeline& body, TaskClock::Cell* cells) {
  constexpr uint64_t kPicosecondsPerNanosecond = 1000;
  for (uint32_t i = 0; i < body.timeline.tasks.size(); ++i) {
    TaskClock::Cell& cell = cells[program.task(body.firstTask + i).profileRow];
    const machine::Interval& interval = body.timeline.tasks[i];
    ++cell.count;
    cell.nanoseconds += (interval.end - interval.begin + kPicosecondsPerNanosecond / 2) / kPicosecondsPerNanosecond;
  }
}

class NpuExecutor final : public Executor {
 public:
  /// `checker` of kChecked.
  NpuExecutor(Schedule schedule, SimulationMode mode, SimulatedTime* simulated, std::unique_ptr<RunChecker> checker)
      : schedule_(std::move(schedule)), mode_(mode), simulated_(simulated), checker_(std::move(checker)) {}

  uint32_t threads() const override { return 1; }

  Status run(const LoadedProgram& program, const Entry& entry, const RunValues& values, TaskClock* clock) override {
    CallFrame frame{.bases = nullptr,
                    .valid = values.valid,
                    .row0 = values.row0,
                    .context = entry.record->context,
                    .tileBytes = program.tileBytes()};
    if (checker_) checker_->beginEntry(entry);
    for (const Call& call : entry.calls) {
      const BodyTimeline& body = schedule_.bodies[call.record->body];
      frame.bases = call.bases;
      if (checker_) {
        FIRN_RETURN_IF_ERROR(runChecked(program, body, frame));
      } else if (mode_ == SimulationMode::kFunctional) {
        runTasks(program, body, frame);
      }
      if (clock != nullptr) measure(program, body, clock->cells(0));
    }
    report(static_cast<size_t>(entry.record - program.blob().entries().data()));
    return Status::ok();
  }

 private:
  /// In the order of their begin, which is right whatever runs at once: what a task reads was written by tasks that end
  /// before it begins, or the program is faulty.
  static void runTasks(const LoadedProgram& program, const BodyTimeline& body, const CallFrame& frame) {
    for (const uint32_t i : body.timeline.order) {
      const Task& task = program.task(body.firstTask + i);
      task.run(task, frame);
    }
  }

  Status runChecked(const LoadedProgram& program, const BodyTimeline& body, const CallFrame& frame) {
    checker_->beginCall();
    for (const uint32_t i : body.timeline.order) {
      const uint32_t index = body.firstTask + i;
      const Task& task = program.task(index);
      FIRN_RETURN_IF_ERROR(
          checker_->check({.index = index, .queue = body.queues[i], .interval = body.timeline.tasks[i]}, task, frame));
      task.run(task, frame);
    }
    return Status::ok();
  }

  void report(size_t entry) const {
    if (simulated_ == nullptr) return;
    ++simulated_->runs;
    simulated_->last = schedule_.runs[entry];
    simulated_->total.add(simulated_->last);
  }

  Schedule schedule_;
  SimulationMode mode_;
  SimulatedTime* simulated_;
  std::unique_ptr<RunChecker> checker_;
};

class NpuBackend final : public Backend {
 public:
  NpuBackend(cpu::InstructionSet isa, const DeviceOptions& options)
      : isa_(isa),
        mode_(options.simulation),
        simulated_(options.simulated),
        table_{.device = "npu", .find = findNpuTask, .kernels = &npu::kernelsOf(isa)} {}

  DeviceInfo info() const override {
    return {.name = "npu",
            .instructionSet = std::string(cpu::instructionSetName(isa_)),
            .target = blob::Target::kNpu,
            .maxThreads = 1};
  }

  const TaskTable* taskTable() const override { return &table_; }
  bool readsWeights() const override { return mode_ != SimulationMode::kTiming; }

  Result<std::unique_ptr<Executor>> admit(const blob::Blob& blob, const LoadOptions& options) override {
    FIRN_RETURN_IF_ERROR(checkTarget(blob, blob::Target::kNpu, "npu"));
    if (options.threads > 1) {
      return invalidArgument(concat(options.threads, " threads asked for, device npu runs on 1"));
    }
    for (const blob::EntryRecord& entry : blob.entries()) {
      if (entry.target != blob::Target::kNpu || entry.kind != blob::EntryKind::kBatch) continue;
      return unsupported(concat(blob.path(), ": entry ", blob.string(entry.name),
                                " is a batch, which device npu does not run; compile the model without batches"));
    }
    Result<Schedule> made = scheduleOf(blob);
    if (!made) return made.status().withPlace(blob.path());
    Schedule& schedule = *made;
    std::unique_ptr<RunChecker> checker;
    if (mode_ == SimulationMode::kChecked) {
      FIRN_ASSIGN_OR_RETURN(checker, RunChecker::create(blob, schedule.machine));
    }
    return std::unique_ptr<Executor>(
        std::make_unique<NpuExecutor>(std::move(schedule), mode_, simulated_, std::move(checker)));
  }

 private:
  cpu::InstructionSet isa_;
  SimulationMode mode_;
  SimulatedTime* simulated_;
  TaskTable table_;
};

}  // namespace

Result<std::unique_ptr<Backend>> openNpuBackend(const DeviceOptions& options) {
  FIRN_ASSIGN_OR_RETURN(const cpu::InstructionSet isa, instructionSetOf(options));
  return std::unique_ptr<Backend>(std::make_unique<NpuBackend>(isa, options));
}

}  // namespace firn::runtime
