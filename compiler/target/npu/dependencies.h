// Which tasks of a plan must follow which: by the bytes they touch, at the addresses they were given. Two accesses of a
// byte, one of them a write, keep the order of the program; so memory that two buffers use in turn orders their tasks
// too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/target/npu/plan.h"

namespace firn::target {

/// Every conflict of two tasks is ordered by a chain of these; few of them are implied by others.
struct Dependencies {
  std::vector<uint32_t> first;  ///< place in `tasks` of each task's first, and the end of the last one's
  std::vector<uint32_t> tasks;  ///< the latest in the program first

  /// What `task` must follow, all of it earlier in the program.
  std::span<const uint32_t> of(uint32_t task) const {
    return {tasks.data() + first[task], tasks.data() + first[task + 1]};
  }
};

/// `addresses`: of each buffer of the plan, in all its tiles or in DDR scratch; those of fixed buffers are not looked
/// at, each of them is a memory of its own. O(a log a) for a accesses, plus their overlaps.
Dependencies dependenciesOf(const Plan& plan, std::span<const uint64_t> addresses);

}  // namespace firn::target
