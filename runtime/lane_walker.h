// Runs the static task list of an entry: calls in order, segments in order, in each segment the tasks of some lanes.
// Not here: who runs which lanes, and how threads meet (the devices).
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/input_check.h"
#include "runtime/loaded_program.h"
#include "runtime/profiler.h"

namespace firn::runtime {

/// Lanes [first, end) of a program, all run by one thread.
struct LaneSpan {
  uint32_t first = 0;
  uint32_t end = 0;
};

/// Thread `thread` of `threads` gets a run of whole lanes; the sizes differ by one at most.
inline LaneSpan lanesOfThread(uint32_t lanes, uint32_t threads, uint32_t thread) {
  const auto cut = [&](uint32_t t) { return static_cast<uint32_t>(uint64_t{lanes} * t / threads); };
  return {.first = cut(thread), .end = cut(thread + 1)};
}

inline void runTasks(const TaskRange& range, const CallFrame& frame, TaskClock::Cell* cells) {
  if (cells == nullptr) {
    for (const Task* task = range.begin; task != range.end; ++task) task->run(*task, frame);
    return;
  }
  auto before = std::chrono::steady_clock::now();
  for (const Task* task = range.begin; task != range.end; ++task) {
    task->run(*task, frame);
    const auto after = std::chrono::steady_clock::now();
    TaskClock::Cell& cell = cells[task->profileRow];
    ++cell.count;
    cell.nanoseconds += static_cast<uint64_t>((after - before) / std::chrono::nanoseconds(1));
    before = after;
  }
}

/// What one thread runs.
struct LaneWork {
  LaneSpan lanes;
  TaskClock::Cell* cells = nullptr;  ///< of the thread; null: no measuring
};

/// Runs the lanes of `work` through the whole entry, calling `meet()` after each segment. Allocates nothing.
template <typename Meet>
void walkLanes(const LoadedProgram& program, const Entry& entry, const RunValues& values, const LaneWork& work,
               Meet&& meet) {
  CallFrame frame{.bases = nullptr, .valid = values.valid, .row0 = values.row0, .context = entry.record->context};
  if (entry.isBatch()) frame.row0s = values.row0s.data();
  for (const Call& call : entry.calls) {
    frame.bases = call.bases;
    frame.rowBases = call.rowBases;
    for (uint32_t segment = call.firstSegment; segment < call.firstSegment + call.segmentCount; ++segment) {
      for (uint32_t lane = work.lanes.first; lane < work.lanes.end; ++lane) {
        runTasks(program.tasks(segment, lane), frame, work.cells);
      }
      meet();
    }
  }
}

}  // namespace firn::runtime
