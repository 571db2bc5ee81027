// The bytes that a task of the npu reads and writes in one run, as runs of contiguous bytes. For looking for faults;
// the tasks themselves do without.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/loaded_program.h"

namespace firn::runtime {

/// `bytes` from `first`, and the same some strides further: counts and strides (of bytes) of up to three dims. Runs
/// ascend and do not overlap.
struct Access {
  const std::byte* first = nullptr;
  std::array<uint64_t, 3> counts = {1, 1, 1};
  std::array<uint64_t, 3> strides = {};
  uint64_t bytes = 0;
  uint32_t operand = 0;  ///< which of the task
  bool isRead = false;
  bool isWritten = false;

  uint64_t runs() const { return counts[0] * counts[1] * counts[2]; }
  /// The start of run `index`.
  const std::byte* run(uint64_t index) const;
  /// Behind the last byte.
  const std::byte* end() const { return run(runs() - 1) + bytes; }
};

/// A byte that both touch, or nullptr. Takes time that grows with their runs where they interleave.
const std::byte* sharedByte(const Access& a, const Access& b);

/// Of one task. A multicast writes up to 32 tiles beside what it reads.
struct TaskAccesses {
  static constexpr uint32_t kMost = 40;
  std::array<Access, kMost> list;
  uint32_t count = 0;

  void add(const Access& access) { list[count++] = access; }
};

/// What `task` touches with the bases, row0 and tiles of `frame`. Weights are left out: nobody writes them. What it
/// reads is what its result depends on: the sums that an op starts anew are not.
void findAccesses(blob::TaskOp op, const Task& task, const CallFrame& frame, TaskAccesses& found);

}  // namespace firn::runtime
