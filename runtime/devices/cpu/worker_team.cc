#include "runtime/devices/cpu/worker_team.h"

#include <sched.h>

#include <algorithm>
#include <cfenv>
#include <string>
#include <system_error>
#include <utility>

#include "base/cpus.h"
#include "runtime/signals_blocked.h"

namespace firn::runtime {
namespace {

// `count` of the allowed CPUs, from the one this thread is on, so that two processes do not both take the first ones.
std::vector<uint32_t> chooseCpus(const std::vector<uint32_t>& allowed, uint32_t count) {
  const int here = sched_getcpu();
  const auto found = std::find(allowed.begin(), allowed.end(), static_cast<uint32_t>(here));
  const size_t first = found == allowed.end() ? 0 : static_cast<size_t>(found - allowed.begin());
  std::vector<uint32_t> chosen;
  for (uint32_t i = 0; i < count; ++i) chosen.push_back(allowed[(first + i) % allowed.size()]);
  return chosen;
}

}  // namespace

WorkerTeam::WorkerTeam(uint32_t threads, const SpinPolicy& policy)
    : threads_(threads), policy_(policy), barrier_(threads, policy) {}

Result<std::unique_ptr<WorkerTeam>> WorkerTeam::start(uint32_t threads, bool pin) {
  const std::vector<uint32_t> allowed = allowedCpus();
  const bool fits = threads <= allowed.size();
  std::unique_ptr<WorkerTeam> team(new WorkerTeam(threads, fits ? SpinPolicy{} : SpinPolicy::oversubscribed()));
  const bool pins = pin && fits && threads > 1;
  FIRN_RETURN_IF_ERROR(team->startWorkers(pins ? chooseCpus(allowed, threads) : std::vector<uint32_t>{}));
  // The first job must not pay for what a thread does when it starts (its stack, its place on a CPU).
  team->run([](void* /*context*/, uint32_t /*thread*/) {}, nullptr);
  return team;
}

Status WorkerTeam::startWorkers(std::vector<uint32_t> cpus) {
  cpus_ = std::move(cpus);
  const SignalsBlocked blocked;
  try {
    for (uint32_t thread = 1; thread < threads_; ++thread) {
      const std::optional<uint32_t> cpu = cpus_.empty() ? std::nullopt : std::optional<uint32_t>(cpus_[thread]);
      workers_.emplace_back([this, thread, cpu] { workerLoop(thread, cpu); });
    }
  } catch (const std::system_error& error) {
    return resourceExhausted("cannot start thread " + std::to_string(workers_.size() + 2) + " of " +
                             std::to_string(threads_) + ": " + error.what() + "; ask for fewer with --threads");
  }
  return Status::ok();
}

WorkerTeam::~WorkerTeam() {
  job_ = nullptr;
  jobs_.raise();
  for (std::thread& worker : workers_) worker.join();
}

void WorkerTeam::workerLoop(uint32_t thread, std::optional<uint32_t> cpu) {
  if (cpu) pinThisThread(*cpu);  // refused: it only runs slower
  std::fesetenv(FE_DFL_ENV);
  for (uint32_t round = 1;; ++round) {
    jobs_.waitFor(round, policy_);
    if (job_ == nullptr) return;
    job_(context_, thread);
    barrier_.arrive(thread);
  }
}

void WorkerTeam::leaveWorkerCpus() const {
  // A worker that is tied to the CPU we are on could not start before we leave it.
  if (cpus_.empty()) return;
  const int here = sched_getcpu();
  if (std::find(cpus_.begin() + 1, cpus_.end(), static_cast<uint32_t>(here)) != cpus_.end()) moveThisThread(cpus_[0]);
}

void WorkerTeam::run(Job job, void* context) {
  if (threads_ == 1) {
    job(context, 0);
    return;
  }
  leaveWorkerCpus();
  job_ = job;
  context_ = context;
  jobs_.raise();
  job(context, 0);
  barrier_.arrive(0);
}

}  // namespace firn::runtime
