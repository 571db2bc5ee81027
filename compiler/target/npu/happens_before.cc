#include "compiler/target/npu/happens_before.h"

#include <algorithm>

#include "base/concat.h"

namespace firn::target {

HappensBefore::HappensBefore(const CheckProgram& program)
    : program_(&program),
      queues_(program.queues.size()),
      queueOf_(program.tasks.size()),
      placeOf_(program.tasks.size()),
      clocks_(program.tasks.size() * queues_),
      signals_(program.barriers, Signals(queues_)) {
  for (uint32_t queue = 0; queue < queues_; ++queue) {
    for (uint32_t i = 0; i < program.queues[queue].size(); ++i) {
      const uint32_t task = program.queues[queue][i];
      queueOf_[task] = queue;
      placeOf_[task] = i;
      clocks_[task * queues_ + queue] = i;
      for (const uint16_t barrier : program.tasks[task].signals) signals_[barrier][queue].push_back(task);
    }
  }
}

Result<HappensBefore> HappensBefore::of(const CheckProgram& program) {
  HappensBefore result(program);
  FIRN_RETURN_IF_ERROR(result.execute());
  result.prove();
  FIRN_RETURN_IF_ERROR(result.checkCertain());
  return result;
}

/// Counters only grow, so a task that can start can start in every execution that has not started it yet: one execution
/// that ends shows that all do.
Status HappensBefore::execute() {
  std::vector<uint32_t> next(queues_);
  std::vector<uint32_t> counters(program_->barriers);
  for (bool goesOn = true; goesOn;) {
    goesOn = false;
    for (size_t queue = 0; queue < queues_; ++queue) {
      for (; next[queue] < program_->queues[queue].size(); ++next[queue]) {
        const uint32_t task = program_->queues[queue][next[queue]];
        const CheckTask& found = program_->tasks[task];
        const bool mustWait = std::any_of(found.waits.begin(), found.waits.end(), [&](const machine::Wait& wait) {
          return counters[wait.barrier] < wait.count;
        });
        if (mustWait) break;
        for (const uint16_t barrier : found.signals) ++counters[barrier];
        order_.push_back(task);
        goesOn = true;
      }
    }
  }
  return order_.size() == program_->tasks.size() ? Status::ok() : stuck(next, counters);
}

/// Follows the chain "waits for a signal of the task ..., which stands behind the first of its queue, which waits ...".
Status HappensBefore::stuck(const std::vector<uint32_t>& next, const std::vector<uint32_t>& counters) const {
  size_t queue = 0;
  while (next[queue] == program_->queues[queue].size()) ++queue;
  std::string chain;
  std::vector<bool> isSeen(queues_);
  while (!isSeen[queue]) {
    isSeen[queue] = true;
    const CheckTask& waiter = program_->tasks[program_->queues[queue][next[queue]]];
    const auto wait = std::find_if(waiter.waits.begin(), waiter.waits.end(),
                                   [&](const machine::Wait& w) { return counters[w.barrier] < w.count; });
    const Signals& signals = signals_[wait->barrier];
    uint64_t total = 0;
    uint32_t last = UINT32_MAX;
    uint32_t missing = UINT32_MAX;
    for (size_t other = 0; other < queues_; ++other) {
      total += signals[other].size();
      if (!signals[other].empty()) last = signals[other].back();
      for (const uint32_t task : signals[other]) {
        if (missing == UINT32_MAX && placeOf_[task] >= next[other]) missing = task;
      }
    }
    const std::string text =
        concat("task '", waiter.name, "' waits for ", wait->count, " signals of barrier ", wait->barrier);
    if (total < wait->count) {
      const std::string from =
          last == UINT32_MAX ? "" : concat(", the last of a queue from '", program_->tasks[last].name, "'");
      return internalError(concat(text, ", but the body has ", total, from));
    }
    chain += concat(chain.empty() ? "deadlock: " : "; ", text, ", one of which must come from '",
                    program_->tasks[missing].name, "'");
    queue = queueOf_[missing];
    const uint32_t head = program_->queues[queue][next[queue]];
    if (head != missing) chain += concat(" behind '", program_->tasks[head].name, "'");
  }
  return internalError(chain);
}

/// Forward in the order of the execution, so that one round proves nearly all; the last one proves nothing more. Clocks
/// of tasks further on lag behind within a round; a search by halving that meets them claims less, never too much.
void HappensBefore::prove() {
  for (bool hasChanged = true; hasChanged;) {
    hasChanged = false;
    for (const uint32_t task : order_) {
      if (placeOf_[task] > 0) hasChanged |= follow(task, program_->queues[queueOf_[task]][placeOf_[task] - 1]);
      for (const machine::Wait& wait : program_->tasks[task].waits) hasChanged |= proveWait(task, wait);
    }
  }
}

bool HappensBefore::follow(uint32_t task, uint32_t earlier) {
  bool hasChanged = false;
  uint32_t* mine = &clocks_[task * queues_];
  const uint32_t* theirs = &clocks_[earlier * queues_];
  for (size_t queue = 0; queue < queues_; ++queue) {
    const uint32_t ended = std::max(theirs[queue], queue == queueOf_[earlier] ? placeOf_[earlier] + 1 : 0);
    hasChanged |= ended > mine[queue];
    mine[queue] = std::max(mine[queue], ended);
  }
  return hasChanged;
}

/// The later a signal is in its queue, the more others can come without it: so the last one that is certain is found by
/// halving, and those before it in its queue are certain too.
bool HappensBefore::proveWait(uint32_t task, const machine::Wait& wait) {
  bool hasChanged = false;
  const Signals& signals = signals_[wait.barrier];
  for (const std::vector<uint32_t>& list : signals) {
    const auto behind = std::partition_point(list.begin(), list.end(), [&](uint32_t signaller) {
      return possibleWithout(signals, task, signaller) < wait.count;
    });
    if (behind != list.begin()) hasChanged |= follow(task, *std::prev(behind));
  }
  return hasChanged;
}

/// How many signals can come while neither `task` has started nor `signaller` has ended, as far as is proved: those of
/// a queue up to the first that must come after one of the two.
size_t HappensBefore::possibleWithout(const Signals& signals, uint32_t task, uint32_t signaller) const {
  size_t count = 0;
  for (const std::vector<uint32_t>& list : signals) {
    const auto end = std::partition_point(list.begin(), list.end(), [&](uint32_t other) {
      const bool isOne = other == signaller || other == task;
      return !isOne && !holds(signaller, other) && !holds(task, other);
    });
    count += static_cast<size_t>(end - list.begin());
  }
  return count;
}

Status HappensBefore::checkCertain() const {
  for (const uint32_t task : order_) {
    for (const machine::Wait& wait : program_->tasks[task].waits) {
      size_t certain = 0;
      std::vector<uint32_t> open;
      for (const std::vector<uint32_t>& list : signals_[wait.barrier]) {
        const auto end =
            std::partition_point(list.begin(), list.end(), [&](uint32_t other) { return holds(other, task); });
        certain += static_cast<size_t>(end - list.begin());
        if (end != list.end()) open.push_back(*end);
      }
      if (certain >= wait.count) continue;
      std::string names;
      for (const uint32_t other : open) names += concat(names.empty() ? "'" : ", '", program_->tasks[other].name, "'");
      return internalError(concat("task '", program_->tasks[task].name, "' waits for ", wait.count,
                                  " signals of barrier ", wait.barrier, ", of which ", certain,
                                  " are certain; the next may come from any of ", names));
    }
  }
  return Status::ok();
}

}  // namespace firn::target
