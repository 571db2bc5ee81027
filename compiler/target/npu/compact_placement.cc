#include "compiler/target/npu/compact_placement.h"

#include <algorithm>
#include <utility>

#include "compiler/target/npu/interval_index.h"

namespace firn::target {
namespace {

using Range = std::pair<uint64_t, uint64_t>;

/// The lowest begin of a gap of `bytes` between the `taken` ranges.
uint64_t lowestGap(std::vector<Range>& taken, uint64_t bytes) {
  std::sort(taken.begin(), taken.end());
  uint64_t begin = 0;
  for (const Range& range : taken) {
    if (range.first >= begin && range.first - begin >= bytes) break;
    begin = std::max(begin, range.second);
  }
  return begin;
}

bool meet(const PlanBuffer& a, const PlanBuffer& b) {
  return (a.tiles & b.tiles) != 0 || (a.tiles == 0 && b.tiles == 0);
}

}  // namespace

std::optional<uint64_t> placeCompactly(const Plan& plan, std::span<const Lifetime> lifetimes,
                                       std::span<const uint32_t> chosen, const CompactLimits& limits,
                                       std::vector<uint64_t>& addresses) {
  const auto firstOf = [&](uint32_t buffer) -> uint64_t {
    return lifetimes[buffer].first - std::min(lifetimes[buffer].first, limits.tasksAhead);
  };
  std::vector<uint32_t> byBegin(chosen.begin(), chosen.end());
  std::sort(byBegin.begin(), byBegin.end(),
            [&](uint32_t a, uint32_t b) { return std::pair(firstOf(a), a) < std::pair(firstOf(b), b); });
  std::vector<uint64_t> begins;
  for (const uint32_t buffer : byBegin) begins.push_back(firstOf(buffer));
  std::vector<uint32_t> bySize(byBegin.size());
  for (uint32_t i = 0; i < bySize.size(); ++i) bySize[i] = i;
  std::sort(bySize.begin(), bySize.end(), [&](uint32_t a, uint32_t b) {
    const uint64_t bytesA = plan.buffers[byBegin[a]].bytes;
    const uint64_t bytesB = plan.buffers[byBegin[b]].bytes;
    return bytesA != bytesB ? bytesA > bytesB : a < b;
  });

  IntervalIndex placed(std::move(begins));
  std::vector<Range> taken;
  uint64_t usedBytes = 0;
  for (const uint32_t place : bySize) {
    const uint32_t buffer = byBegin[place];
    const uint64_t bytes = placedBytes(plan.buffers[buffer]);
    const uint64_t end = uint64_t{lifetimes[buffer].last} + 1;
    taken.clear();
    placed.forEach(firstOf(buffer), end, [&](uint32_t other) {
      const PlanBuffer& neighbour = plan.buffers[byBegin[other]];
      const uint64_t begin = addresses[byBegin[other]];
      if (meet(plan.buffers[buffer], neighbour)) taken.emplace_back(begin, begin + placedBytes(neighbour));
    });
    const uint64_t begin = lowestGap(taken, bytes);
    if (bytes > limits.capacityBytes || begin > limits.capacityBytes - bytes) return std::nullopt;
    addresses[buffer] = begin;
    usedBytes = std::max(usedBytes, begin + bytes);
    placed.insert(place, end);
  }
  return usedBytes;
}

}  // namespace firn::target
