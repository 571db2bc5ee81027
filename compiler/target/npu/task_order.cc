#include "compiler/target/npu/task_order.h"

#include <functional>
#include <queue>
#include <utility>

#include "base/concat.h"
#include "compiler/target/npu/dma_engines.h"

namespace firn::target {
namespace {

using machine::Engine;

/// The dependencies the other way round.
struct Followers {
  std::vector<uint32_t> first;
  std::vector<uint32_t> tasks;

  explicit Followers(const Dependencies& dependencies) : first(dependencies.first.size() + 1) {
    for (const uint32_t task : dependencies.tasks) ++first[task + 2];
    for (size_t i = 2; i < first.size(); ++i) first[i] += first[i - 1];
    tasks.resize(dependencies.tasks.size());
    for (uint32_t task = 0; task + 1 < dependencies.first.size(); ++task) {
      for (const uint32_t earlier : dependencies.of(task)) tasks[first[earlier + 1]++] = task;
    }
  }
  std::span<const uint32_t> of(uint32_t task) const {
    return {tasks.data() + first[task], tasks.data() + first[task + 1]};
  }
};

/// For each task the first one in the program that computes and waits for it, if only through DMA tasks; the task
/// itself where it computes or nothing waits.
std::vector<uint32_t> neededAt(const Plan& plan, const Followers& followers) {
  std::vector<uint32_t> needed(plan.tasks.size());
  for (auto task = static_cast<uint32_t>(plan.tasks.size()); task-- > 0;) {
    const bool isDma = plan.tasks[task].engine == Engine::kDma;
    needed[task] = isDma && !followers.of(task).empty() ? UINT32_MAX : task;
    if (!isDma) continue;
    for (const uint32_t follower : followers.of(task)) needed[task] = std::min(needed[task], needed[follower]);
  }
  return needed;
}

class Run {
 public:
  Run(const Plan& plan, const Dependencies& dependencies, const machine::Machine& machine)
      : plan_(plan),
        machine_(machine),
        followers_(dependencies),
        needed_(neededAt(plan, followers_)),
        dma_(machine),
        computing_(2 * machine.tiles),
        isBusy_(2 * machine.tiles),
        left_(plan.tasks.size()) {
    order_.queues.resize(machine::queueCount(machine));
    order_.queueOf.resize(plan.tasks.size());
    for (uint32_t task = 0; task < plan.tasks.size(); ++task) {
      missing_.push_back(static_cast<uint32_t>(dependencies.of(task).size()));
      if (missing_[task] == 0) push(task);
    }
  }

  TaskOrder run() && {
    startAll();
    while (left_ > 0) {
      step();
      startAll();
    }
    order_.picoseconds = now_;
    return std::move(order_);
  }

 private:
  using Key = std::pair<uint32_t, uint32_t>;  ///< where the task is needed, task
  using Ready = std::priority_queue<Key, std::vector<Key>, std::greater<>>;
  using End = std::pair<double, uint32_t>;  ///< time, task

  /// Of the DPU or SHAVE of a tile, in computing_ and isBusy_.
  uint32_t engineOf(const PlanTask& task) const {
    return task.tile + (task.engine == Engine::kShave ? machine_.tiles : 0);
  }

  void push(uint32_t task) {
    const bool isDma = plan_.tasks[task].engine == Engine::kDma;
    Ready& ready = !isDma                                ? computing_[engineOf(plan_.tasks[task])]
                   : dma_.isLong(plan_.tasks[task].work) ? longMoves_
                                                         : shortMoves_;
    ready.emplace(needed_[task], task);
  }

  void startAll() {
    for (uint32_t engine = dma_.idle(); engine < dma_.count(); engine = dma_.idle()) {
      if (longMoves_.empty() && shortMoves_.empty()) break;
      const uint32_t task = take(nextMoves(), engine);
      dma_.start(engine, task, plan_.tasks[task].work);
    }
    for (uint32_t engine = 0; engine < computing_.size(); ++engine) {
      if (isBusy_[engine] || computing_[engine].empty()) continue;
      const uint32_t task = take(computing_[engine], machine_.dmaEngines + engine);
      isBusy_[engine] = true;
      ends_.emplace(now_ + static_cast<double>(plan_.tasks[task].work.fixedPicoseconds), task);
    }
  }

  /// The most urgent, with one exception. While all engines are in their latencies no bandwidth is used, so a short
  /// task, little more than a latency, is done only while another engine moves bytes for as long, and for the latency
  /// of what comes after it; else the most urgent long one is next. That keeps the latencies of two engines apart.
  Ready& nextMoves() {
    if (longMoves_.empty()) return shortMoves_;
    if (shortMoves_.empty() || longMoves_.top() < shortMoves_.top()) return longMoves_;
    constexpr uint32_t kMostPassed = 4;  // what others wait for cannot wait for ever
    const uint64_t latency = plan_.tasks[shortMoves_.top().second].work.fixedPicoseconds;
    const bool isTime = passed_ == kMostPassed || dma_.count() == 1 || dma_.isMovingFor(2 * latency);
    passed_ = isTime ? 0 : passed_ + 1;
    return isTime ? shortMoves_ : longMoves_;
  }

  uint32_t take(Ready& ready, uint32_t queue) {
    const uint32_t task = ready.top().second;
    ready.pop();
    order_.queues[queue].push_back(task);
    order_.queueOf[task] = queue;
    order_.starts.push_back(task);
    return task;
  }

  /// To the next change, and all ends that it brings.
  void step() {
    const double untilEnd = ends_.empty() ? HUGE_VAL : ends_.top().first - now_;
    const double picoseconds = std::min(untilEnd, dma_.untilChange());
    now_ = untilEnd <= picoseconds ? ends_.top().first : now_ + picoseconds;
    dma_.advance(picoseconds, [&](uint32_t task) { finish(task); });
    while (!ends_.empty() && ends_.top().first <= now_) {
      const uint32_t task = ends_.top().second;
      ends_.pop();
      isBusy_[engineOf(plan_.tasks[task])] = false;
      finish(task);
    }
  }

  void finish(uint32_t task) {
    --left_;
    for (const uint32_t follower : followers_.of(task)) {
      if (--missing_[follower] == 0) push(follower);
    }
  }

  const Plan& plan_;
  const machine::Machine& machine_;
  Followers followers_;
  std::vector<uint32_t> needed_;
  DmaEngines dma_;
  std::vector<uint32_t> missing_;  ///< how many of its dependencies each task still waits for
  Ready longMoves_;
  Ready shortMoves_;
  uint32_t passed_ = 0;  ///< long moves that went before a more urgent short one
  std::vector<Ready> computing_;
  std::vector<bool> isBusy_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  double now_ = 0;
  size_t left_;  ///< tasks that have not ended
  TaskOrder order_;
};

}  // namespace

TaskOrder orderTasks(const Plan& plan, const Dependencies& dependencies, const machine::Machine& machine) {
  return Run(plan, dependencies, machine).run();
}

Result<TaskOrder> orderOfQueues(const std::vector<std::vector<uint32_t>>& queues, const Dependencies& dependencies) {
  TaskOrder order;
  order.queues = queues;
  order.queueOf.resize(dependencies.first.size() - 1);
  for (uint32_t queue = 0; queue < queues.size(); ++queue) {
    for (const uint32_t task : queues[queue]) order.queueOf[task] = queue;
  }
  std::vector<size_t> next(queues.size());
  std::vector<bool> hasStarted(order.queueOf.size());
  const auto isReady = [&](uint32_t task) {
    return std::ranges::all_of(dependencies.of(task), [&](uint32_t earlier) { return hasStarted[earlier]; });
  };
  for (bool hasMoved = true; hasMoved;) {
    hasMoved = false;
    for (size_t queue = 0; queue < queues.size(); ++queue) {
      while (next[queue] < queues[queue].size() && isReady(queues[queue][next[queue]])) {
        const uint32_t task = queues[queue][next[queue]++];
        hasStarted[task] = true;
        order.starts.push_back(task);
        hasMoved = true;
      }
    }
  }
  const auto stuck = std::ranges::find(hasStarted, false);
  if (stuck == hasStarted.end()) return order;
  return internalError(
      concat("task ", stuck - hasStarted.begin(), " never starts: what it must follow stands behind it"));
}

}  // namespace firn::target
