// What is certain about the order of the tasks of a scheduled body, whatever time each of them takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/target/npu/program_check.h"

namespace firn::target {

/// For each task, how many tasks of each queue have certainly ended when it starts. Two rules, until nothing changes:
/// - a task starts after the end of the one before it in its queue;
/// - a task that waits for n signals of a barrier starts after a signal s if fewer than n of the others can come
///   without s, and before the task: those that are not certain to come after s, and not after the task.
/// The second holds since without s the counter could not have reached n. Rules that use only what was proved before
/// stay true, so the order never claims too much.
class HappensBefore {
 public:
  /// internal for a program that does not end, or whose waits do not say for which signals they wait. The queues of the
  /// program must hold each task once.
  static Result<HappensBefore> of(const CheckProgram& program);

  /// Whether `earlier` has certainly ended when `later` starts.
  bool holds(uint32_t earlier, uint32_t later) const {
    return clocks_[later * queues_ + queueOf_[earlier]] > placeOf_[earlier];
  }
  /// One order in which the tasks can start and end one by one.
  const std::vector<uint32_t>& order() const { return order_; }

 private:
  /// A signal of a barrier by a task; those of one queue in its order.
  using Signals = std::vector<std::vector<uint32_t>>;

  explicit HappensBefore(const CheckProgram& program);

  Status execute();
  Status stuck(const std::vector<uint32_t>& next, const std::vector<uint32_t>& counters) const;
  void prove();
  bool proveWait(uint32_t task, const machine::Wait& wait);
  bool follow(uint32_t task, uint32_t earlier);
  size_t possibleWithout(const Signals& signals, uint32_t task, uint32_t signaller) const;
  Status checkCertain() const;

  const CheckProgram* program_;
  size_t queues_;
  std::vector<uint32_t> queueOf_;
  std::vector<uint32_t> placeOf_;
  std::vector<uint32_t> clocks_;  ///< task x queue
  std::vector<Signals> signals_;  ///< of each barrier, by queue
  std::vector<uint32_t> order_;
};

}  // namespace firn::target
