#include "runtime/devices/cpu/cpu_device.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/cpus.h"
#include "kernels/cpu/arithmetic.h"
#include "kernels/cpu/kernels.h"
#include "runtime/devices/cpu/cpu_tasks.h"
#include "runtime/devices/cpu/worker_team.h"
#include "runtime/instruction_set.h"
#include "runtime/lane_walker.h"

namespace firn::runtime {
namespace {

/// One run, as the threads of the team see it.
struct Run {
  const LoadedProgram& program;
  const Entry& entry;
  const RunValues& values;
  TaskClock* clock;
  WorkerTeam& team;
};

void runThread(void* context, uint32_t thread) {
  const Run& run = *static_cast<const Run*>(context);
  const LaneWork work = {.lanes = lanesOfThread(run.program.lanes(), run.team.threads(), thread),
                         .cells = run.clock == nullptr ? nullptr : run.clock->cells(thread)};
  walkLanes(run.program, run.entry, run.values, work, [&] { run.team.meet(thread); });
}

class CpuExecutor final : public Executor {
 public:
  explicit CpuExecutor(std::shared_ptr<WorkerTeam> team) : team_(std::move(team)) {}

  uint32_t threads() const override { return team_->threads(); }

  Status run(const LoadedProgram& program, const Entry& entry, const RunValues& values, TaskClock* clock) override {
    Run run{.program = program, .entry = entry, .values = values, .clock = clock, .team = *team_};
    team_->run(runThread, &run);
    return Status::ok();
  }

 private:
  std::shared_ptr<WorkerTeam> team_;
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(cpu::InstructionSet isa, bool pinThreads)
      : isa_(isa),
        pinThreads_(pinThreads),
        cpus_(static_cast<uint32_t>(allowedCpus().size())),
        table_{.device = "cpu", .find = findCpuTask, .check = checkCpuTask, .kernels = &cpu::kernels(isa)} {}

  DeviceInfo info() const override {
    return {.name = "cpu",
            .instructionSet = std::string(cpu::instructionSetName(isa_)),
            .target = blob::Target::kCpu,
            .maxThreads = cpus_};
  }

  const TaskTable* taskTable() const override { return &table_; }

  Result<std::unique_ptr<Executor>> admit(const blob::Blob& blob, const LoadOptions& options) override {
    FIRN_RETURN_IF_ERROR(checkTarget(blob, blob::Target::kCpu, "cpu"));
    const blob::Ident& ident = blob.ident();
    if (ident.arithmeticId != cpu::kArithmeticId) {
      return versionMismatch(blob.path() + ": made for arithmetic " + std::to_string(ident.arithmeticId) +
                             ", this device computes arithmetic " + std::to_string(cpu::kArithmeticId) +
                             "; compile the model again");
    }
    if (ident.isaNeeds != 0) {
      return unsupported(blob.path() + ": needs instruction sets " + std::to_string(ident.isaNeeds) +
                         ", and this device knows programs that need none (0) only; compile the model again");
    }
    if (options.threads > ident.lanes) {
      return invalidArgument(blob.path() + ": " + std::to_string(options.threads) +
                             " threads asked for, its program has " + std::to_string(ident.lanes) +
                             " lanes; use at most that many or compile with more");
    }
    const uint32_t threads = options.threads != 0 ? options.threads : std::min(ident.lanes, cpus_);
    FIRN_ASSIGN_OR_RETURN(std::shared_ptr<WorkerTeam> team, teamOf(threads));
    return std::unique_ptr<Executor>(std::make_unique<CpuExecutor>(std::move(team)));
  }

 private:
  /// Programs with the same number of threads share a team: two teams would spin on the same CPUs.
  Result<std::shared_ptr<WorkerTeam>> teamOf(uint32_t threads) {
    if (std::shared_ptr<WorkerTeam> team = teams_[threads].lock()) return team;
    FIRN_ASSIGN_OR_RETURN(std::shared_ptr<WorkerTeam> team, WorkerTeam::start(threads, pinThreads_));
    teams_[threads] = team;
    return team;
  }

  cpu::InstructionSet isa_;
  bool pinThreads_;
  uint32_t cpus_;
  TaskTable table_;
  std::map<uint32_t, std::weak_ptr<WorkerTeam>> teams_;
};

}  // namespace

Result<std::unique_ptr<Backend>> openCpuBackend(const DeviceOptions& options) {
  FIRN_ASSIGN_OR_RETURN(const cpu::InstructionSet isa, instructionSetOf(options));
  return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(isa, options.pinThreads));
}

}  // namespace firn::runtime
