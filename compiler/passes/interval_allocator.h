// Places buffers that live for a time in as little memory as a greedy choice gives. Pure arithmetic, no IR.
#pragma once

#include <cstdint>
#include <vector>

namespace firn::passes {

/// `bytes` in use from time `first` to time `last`, both included. first > last: never used, placed anywhere.
struct Interval {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t bytes = 0;
};

/// Offset of each interval, a multiple of `alignment`, so that no two that meet in time meet in memory; `areaBytes` is
/// the end of the last. Largest first, each at the lowest offset that is free during its life.
std::vector<uint64_t> allocateIntervals(const std::vector<Interval>& intervals, uint64_t alignment,
                                        uint64_t& areaBytes);

}  // namespace firn::passes
