#include "compiler/target/npu/barriers.h"

#include <algorithm>
#include <span>

#include "base/concat.h"
#include "base/joined.h"

namespace firn::target {
namespace {

/// For each task the producers it must wait for, found with clocks: a clock holds, for each queue, how many of its
/// tasks have ended.
class Reduction {
 public:
  Reduction(const Dependencies& dependencies, const TaskOrder& order)
      : dependencies_(dependencies),
        order_(order),
        queues_(order.queues.size()),
        clocks_(order.queueOf.size() * queues_),
        place_(order.queueOf.size()),
        startedAt_(order.queueOf.size()),
        producers_(order.queueOf.size()) {
    for (const std::vector<uint32_t>& queue : order.queues) {
      for (uint32_t i = 0; i < queue.size(); ++i) place_[queue[i]] = i;
    }
    for (uint32_t i = 0; i < order.starts.size(); ++i) startedAt_[order.starts[i]] = i;
  }

  std::vector<std::vector<uint32_t>> run() && {
    for (const uint32_t task : order_.starts) visit(task);
    return std::move(producers_);
  }

 private:
  std::span<uint32_t> clockOf(uint32_t task) { return std::span(clocks_).subspan(task * queues_, queues_); }

  /// What has ended at the end of `earlier` has ended at the start of `task`.
  void follow(uint32_t task, uint32_t earlier) {
    const std::span<uint32_t> mine = clockOf(task);
    const std::span<const uint32_t> theirs = clockOf(earlier);
    for (size_t queue = 0; queue < queues_; ++queue) mine[queue] = std::max(mine[queue], theirs[queue]);
    mine[order_.queueOf[earlier]] = std::max(mine[order_.queueOf[earlier]], place_[earlier] + 1);
  }

  /// The latest producers first: what they have waited for themselves need not be waited for again. A producer that was
  /// kept is never implied by one that started before it, so each wait is needed.
  void visit(uint32_t task) {
    if (place_[task] > 0) follow(task, order_.queues[order_.queueOf[task]][place_[task] - 1]);
    sorted_.assign(dependencies_.of(task).begin(), dependencies_.of(task).end());
    std::sort(sorted_.begin(), sorted_.end(), [&](uint32_t a, uint32_t b) { return startedAt_[a] > startedAt_[b]; });
    for (const uint32_t earlier : sorted_) {
      if (clockOf(task)[order_.queueOf[earlier]] > place_[earlier]) continue;
      producers_[task].push_back(earlier);
      follow(task, earlier);
    }
  }

  const Dependencies& dependencies_;
  const TaskOrder& order_;
  size_t queues_;
  std::vector<uint32_t> clocks_;     ///< of each task at its start
  std::vector<uint32_t> place_;      ///< of each task in its queue
  std::vector<uint32_t> startedAt_;  ///< place of each task in order.starts
  std::vector<std::vector<uint32_t>> producers_;
  std::vector<uint32_t> sorted_;
};

}  // namespace

Result<Synchronization> synchronize(const Dependencies& dependencies, const TaskOrder& order,
                                    const machine::Machine& machine) {
  const size_t tasks = order.queueOf.size();
  const std::vector<std::vector<uint32_t>> producers = Reduction(dependencies, order).run();
  std::vector<bool> isWaitedFor(tasks);
  for (const std::vector<uint32_t>& list : producers) {
    for (const uint32_t producer : list) isWaitedFor[producer] = true;
  }
  Synchronization result{std::vector<std::vector<machine::Wait>>(tasks), std::vector<std::vector<uint16_t>>(tasks)};
  std::vector<machine::Wait> waitFor(tasks);
  std::vector<std::string> owners;
  for (uint32_t queue = 0; queue < order.queues.size(); ++queue) {
    uint32_t count = 0;
    const auto barrier = static_cast<uint16_t>(owners.size());
    for (const uint32_t task : order.queues[queue]) {
      if (!isWaitedFor[task]) continue;
      result.signals[task].push_back(barrier);
      waitFor[task] = {.barrier = barrier, .count = ++count};
    }
    if (count > 0) owners.push_back(machine::queueName(machine, queue));
  }
  if (owners.size() > machine.barriers) {
    return resourceExhausted(concat("machine ", machine.name, " has ", machine.barriers, " barriers, but ",
                                    owners.size(), " of its queues are waited for by others and need one each (",
                                    joined(owners, ", "), "); give the machine file as many barriers as queues"));
  }
  for (uint32_t task = 0; task < tasks; ++task) {
    for (const uint32_t producer : producers[task]) result.waits[task].push_back(waitFor[producer]);
    std::sort(result.waits[task].begin(), result.waits[task].end(),
              [](const machine::Wait& a, const machine::Wait& b) { return a.barrier < b.barrier; });
  }
  return result;
}

}  // namespace firn::target
