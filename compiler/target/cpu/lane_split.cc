#include "compiler/target/cpu/lane_split.h"

#include <algorithm>
#include <numeric>

namespace firn::target {

std::vector<Range> splitColumns(int64_t total, int64_t unit, int lanes) {
  int64_t units = (total + unit - 1) / unit;
  std::vector<Range> ranges;
  for (int lane = 0; lane < lanes; ++lane) {
    int64_t first = std::min(total, units * lane / lanes * unit);
    int64_t end = std::min(total, units * (lane + 1) / lanes * unit);
    ranges.push_back({first, end - first});
  }
  return ranges;
}

HeadSplit splitHeads(int64_t heads, int64_t kvHeads, int64_t headDim, int lanes) {
  constexpr int64_t kGroupColumns = 32;
  HeadSplit split;
  split.query = splitColumns(heads, std::lcm(kGroupColumns, headDim) / headDim, lanes);
  std::vector<int64_t> work;
  for (const Range& range : split.query) work.push_back(range.count);
  split.kv.resize(static_cast<size_t>(lanes));
  for (int64_t head = 0; head < kvHeads; ++head) {
    auto least = std::ranges::min_element(work);
    *least += 2;
    ++split.kv[static_cast<size_t>(least - work.begin())].count;
  }
  int64_t first = 0;
  for (Range& range : split.kv) {
    range.first = first;
    first += range.count;
  }
  return split;
}

}  // namespace firn::target
