// Looks for what a right program never does, task by task while it runs: two tasks that run at the same time and touch
// the same bytes, one of them writing; reads of bytes that nobody has written; bytes outside their memory. The compiler
// proves the absence of the first two for every run (its check); here they are seen in one.
// Not here: the order and the times of tasks (entry_timeline.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "blob/machine/machine.h"
#include "blob/machine/timeline.h"
#include "blob/reader.h"
#include "runtime/devices/npu/task_accesses.h"

namespace firn::runtime {

class RunChecker {
 public:
  /// A task about to run.
  struct Step {
    uint32_t index = 0;  ///< in the blob
    uint16_t queue = 0;
    machine::Interval interval;  ///< from the start of the call
  };

  /// Takes a byte for each byte of CMX, scratch and outputs; nothing is allocated later unless there is a finding.
  /// resource_exhausted when this computer has not so many.
  static Result<std::unique_ptr<RunChecker>> create(const blob::Blob& blob, const machine::Machine& machine);

  /// Forgets what was written.
  void beginEntry(const Entry& entry);
  /// Forgets what was written to CMX, and what runs.
  void beginCall();
  /// The tasks of a call in the order of their begin, before each runs. internal: a finding, naming both tasks, or the
  /// only one.
  Status check(const Step& step, const Task& task, const CallFrame& frame);

 private:
  RunChecker(const blob::Blob& blob, const machine::Machine& machine);

  /// Memory in which every byte is written before it is read.
  struct Area {
    std::string_view name;
    const std::byte* first = nullptr;
    uint64_t bytes = 0;
    std::vector<uint8_t> isWritten;  ///< of each byte; empty where anything may be read
  };
  /// What runs on a queue.
  struct Running {
    Step step;
    TaskAccesses accesses;
  };

  std::string text(const Step& step) const;
  std::string placeText(const Area& area, const std::byte* at) const;
  Area& areaOf(const blob::OperandRecord& operand);
  Status checkArea(const Step& step, const Access& access, Area& area) const;
  Status checkOthers(const Running& task, const Task& operands);
  static void markWritten(const Access& access, Area& area);

  const blob::Blob& blob_;
  machine::Machine machine_;
  uint64_t tileBytes_;  ///< from the CMX of a tile to that of the next
  std::string entryName_;
  Area cmx_;
  Area scratch_;
  Area kv_;
  std::array<Area, blob::kSymbolKinds> symbols_;
  std::vector<Running> running_;  ///< by queue
};

}  // namespace firn::runtime
