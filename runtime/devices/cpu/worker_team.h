// The threads that run the lanes of cpu programs: the caller and t - 1 workers, each tied to a CPU where the process
// may use enough of them. Workers sleep when nothing runs. Not a queue: one job at a time, all threads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/barrier.h"
#include "base/spin_wait.h"
#include "base/status.h"

namespace firn::runtime {

class WorkerTeam {
 public:
  /// What each thread runs: `thread` is 0 for the caller of run.
  using Job = void (*)(void* context, uint32_t thread);

  /// A team of `threads` >= 1. Threads are pinned when `pin` is set and at least that many CPUs are allowed: the
  /// workers get the CPUs after the one the caller is on now, which the caller goes back to when it finds itself on a
  /// worker's. resource_exhausted when the system gives no threads.
  static Result<std::unique_ptr<WorkerTeam>> start(uint32_t threads, bool pin);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  uint32_t threads() const { return threads_; }

  /// Runs `job` on every thread, the caller as thread 0, and returns when all are done. The workers
  /// run it with the default floating-point environment (nearest rounding, subnormals kept), whatever the caller's is;
  /// thread 0 runs in the caller's, which StaticDevice::submit has set to the same. One call at a time. Allocates
  /// nothing.
  void run(Job job, void* context);

  /// For jobs: waits for all threads of the team.
  void meet(uint32_t thread) { barrier_.arrive(thread); }

 private:
  WorkerTeam(uint32_t threads, const SpinPolicy& policy);
  Status startWorkers(std::vector<uint32_t> cpus);
  void leaveWorkerCpus() const;
  void workerLoop(uint32_t thread, std::optional<uint32_t> cpu);

  uint32_t threads_;
  SpinPolicy policy_;
  FlagBarrier barrier_;
  WaitWord jobs_;      ///< jobs started so far; also raised to end the workers
  Job job_ = nullptr;  ///< nullptr tells the workers to end
  void* context_ = nullptr;
  std::vector<uint32_t> cpus_;  ///< by thread; empty: not pinned
  std::vector<std::thread> workers_;
};

}  // namespace firn::runtime
