#include "compiler/passes/interval_allocator.h"

#include <algorithm>
#include <numeric>

#include "base/align.h"

namespace firn::passes {

std::vector<uint64_t> allocateIntervals(const std::vector<Interval>& intervals, uint64_t alignment,
                                        uint64_t& areaBytes) {
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return intervals[a].bytes != intervals[b].bytes ? intervals[a].bytes > intervals[b].bytes : a < b;
  });
  std::vector<uint64_t> offsets(intervals.size());
  std::vector<size_t> placed;  // by offset
  areaBytes = 0;
  for (size_t index : order) {
    const Interval& now = intervals[index];
    uint64_t offset = 0;
    for (size_t other : placed) {
      const Interval& before = intervals[other];
      if (before.last < now.first || now.last < before.first) continue;
      if (offsets[other] >= offset + now.bytes) break;
      uint64_t end = offsets[other] + before.bytes;
      offset = std::max(offset, roundUp(end, alignment));
    }
    offsets[index] = offset;
    areaBytes = std::max(areaBytes, offset + now.bytes);
    placed.insert(std::ranges::upper_bound(placed, offset, {}, [&](size_t other) { return offsets[other]; }), index);
  }
  return offsets;
}

}  // namespace firn::passes
