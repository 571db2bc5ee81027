// Proves that a scheduled body gives what its program gives, whatever times its tasks take: it ends, every byte that is
// read was written for the reader, and no two tasks touch a byte in an order that is open. It knows nothing of how the
// schedule was made, and uses none of that code. Not here: what the tasks compute.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "blob/machine/timeline.h"

namespace firn::target {

struct CheckMemory {
  std::string name;
  uint64_t bytes = 0;
  bool isInitialised = false;  ///< its bytes hold something before the body starts; values in it begin at byte 0
};

/// What the program calls one thing: a read sees only bytes that were written for the same value.
struct CheckValue {
  std::string name;
  uint64_t bytes = 0;
};

struct CheckDim {
  uint64_t count = 0;
  uint64_t strideBytes = 0;
};

/// Runs of `bytes`, repeated by each of `dims`, in any order of strides.
struct CheckRegion {
  uint32_t memory = 0;
  uint32_t value = 0;
  uint64_t place = 0;    ///< byte of the value at which the region begins, as the program has it
  uint64_t address = 0;  ///< byte of the memory at which it begins, as the task has it
  uint64_t bytes = 0;
  std::vector<CheckDim> dims;
  bool isWrite = false;
};

struct CheckTask {
  std::string name;
  std::vector<CheckRegion> regions;
  std::vector<machine::Wait> waits;
  std::vector<uint16_t> signals;
};

struct CheckProgram {
  std::vector<CheckMemory> memories;
  std::vector<CheckValue> values;
  std::vector<CheckTask> tasks;               ///< one after the other, in this order, they are right
  std::vector<std::vector<uint32_t>> queues;  ///< which task each queue runs, in its order
  uint32_t barriers = 0;                      ///< that the machine has
};

/// internal, naming the tasks, for the first of:
/// - a task in no queue or in two; an index or barrier that does not exist;
/// - a region that leaves its value or its memory, or a value that lies in two places of one memory;
/// - a wait that no signals can satisfy, a deadlock;
/// - a wait for n signals of a barrier where it is not certain which n come first: it was used again too early;
/// - two tasks that touch a byte, one writing, in either order, or in another order than the program's;
/// - a read of a byte that nobody wrote, or that was last written for another value;
/// - a task that writes one value over what it reads of another.
Status checkProgram(const CheckProgram& program);

}  // namespace firn::target
