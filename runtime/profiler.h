// Where the time of tasks is added up: cells per thread and kind of task. Not a tracer: no order, no timeline.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace firn::runtime {

/// The cells of one program. Each thread writes only its own; the owner reads them while nothing runs.
class TaskClock {
 public:
  struct Cell {
    uint64_t count = 0;
    uint64_t nanoseconds = 0;
  };

  TaskClock(uint32_t threads, size_t rows);

  /// The cells of one thread, by Task::profileRow.
  Cell* cells(uint32_t thread) { return cells_[thread].data(); }
  /// Adds what was measured to `totals`, by the names of the program, and starts again from zero.
  void drain(const std::vector<std::string>& names, std::map<std::string, Cell>& totals);

 private:
  std::vector<std::vector<Cell>> cells_;
};

/// `totals`, costliest first.
std::vector<ProfileRow> profileRows(const std::map<std::string, TaskClock::Cell>& totals);

}  // namespace firn::runtime
