#include "compiler/target/npu/buffer_placement.h"

#include <algorithm>
#include <bit>

#include "base/concat.h"
#include "compiler/target/npu/cmx_scan.h"
#include "compiler/target/npu/compact_placement.h"
#include "compiler/target/npu/lifetimes.h"

namespace firn::target {
namespace {

/// What lives beside `buffer` at its first access in `tile`, the largest first.
std::vector<uint32_t> aliveBeside(const Plan& plan, const std::vector<Lifetime>& lifetimes, uint32_t buffer,
                                  uint32_t tile) {
  const uint32_t task = lifetimes[buffer].first;
  std::vector<uint32_t> alive;
  for (uint32_t i = 0; i < plan.buffers.size(); ++i) {
    const bool isHere = i != buffer && (plan.buffers[i].tiles >> tile & 1) != 0;
    if (isHere && lifetimes[i].first <= task && lifetimes[i].last >= task) alive.push_back(i);
  }
  std::sort(alive.begin(), alive.end(), [&](uint32_t a, uint32_t b) {
    const uint64_t bytesA = plan.buffers[a].bytes;
    const uint64_t bytesB = plan.buffers[b].bytes;
    return bytesA != bytesB ? bytesA > bytesB : a < b;
  });
  return alive;
}

Status cmxExhausted(const Plan& plan, const std::vector<Lifetime>& lifetimes, uint32_t buffer,
                    const machine::Machine& machine) {
  constexpr size_t kMostNamed = 8;
  std::vector<uint32_t> fullest;
  uint64_t fullestBytes = 0;
  uint32_t fullestTile = 0;
  for (uint64_t rest = plan.buffers[buffer].tiles; rest != 0; rest &= rest - 1) {
    const auto tile = static_cast<uint32_t>(std::countr_zero(rest));
    std::vector<uint32_t> alive = aliveBeside(plan, lifetimes, buffer, tile);
    uint64_t bytes = 0;
    for (const uint32_t other : alive) bytes += placedBytes(plan.buffers[other]);
    if (fullest.empty() || bytes > fullestBytes) fullest = std::move(alive), fullestBytes = bytes, fullestTile = tile;
  }
  std::string list;
  for (size_t i = 0; i < std::min(fullest.size(), kMostNamed); ++i) {
    const PlanBuffer& other = plan.buffers[fullest[i]];
    list += concat(i == 0 ? "" : ", ", "'", other.name, "' ", placedBytes(other));
  }
  if (fullest.size() > kMostNamed) list += concat(" and ", fullest.size() - kMostNamed, " smaller ones");
  if (fullest.empty()) list = "nothing";
  return resourceExhausted(concat(
      "task '", plan.tasks[lifetimes[buffer].first].name, "' (", lifetimes[buffer].first + 1, " of ", plan.tasks.size(),
      ") needs ", placedBytes(plan.buffers[buffer]), " bytes for '", plan.buffers[buffer].name, "' in the CMX of tile ",
      fullestTile, ", where ", fullestBytes, " of ", machine.cmxBytes, " bytes are in use (", list,
      ") and no free stretch is long enough, and nothing is moved out to ",
      "make room; compile for smaller prefill chunks, for a machine with more CMX, or for another device"));
}

Status ddrExhausted(const Plan& plan, const std::vector<uint32_t>& buffers, const machine::Machine& machine) {
  uint64_t bytes = 0;
  for (const uint32_t buffer : buffers) bytes += placedBytes(plan.buffers[buffer]);
  return resourceExhausted(concat("the ", buffers.size(), " buffers of a body in DDR, ", bytes,
                                  " bytes without sharing, do not fit into the ", machine.ddrBytes, " bytes of ",
                                  machine.name, "; compile for shorter chunks or contexts"));
}

/// The more tasks a place is free before its use, the less the loads wait; more than kMostAhead gain nothing. What does
/// not fit shows soon, since the largest buffers come first.
bool placeAhead(const Plan& plan, const std::vector<Lifetime>& lifetimes, const std::vector<uint32_t>& chosen,
                uint64_t capacityBytes, std::vector<uint64_t>& addresses) {
  constexpr uint32_t kMostAhead = 256;
  const auto fits = [&](uint32_t tasksAhead) {
    const CompactLimits limits = {.capacityBytes = capacityBytes, .tasksAhead = tasksAhead};
    return placeCompactly(plan, lifetimes, chosen, limits, addresses).has_value();
  };
  uint32_t good = kMostAhead;
  while (good > 0 && !fits(good)) good /= 2;
  if (good == kMostAhead || (good == 0 && !fits(0))) return good > 0;
  uint32_t bad = std::max(2 * good, 1U);
  while (bad - good > 1 + good / 8) {
    const uint32_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return fits(good);
}

}  // namespace

Result<std::vector<BufferPlacement>> placeBuffers(const Plan& plan, const machine::Machine& machine) {
  const std::vector<Lifetime> lifetimes = lifetimesOf(plan);
  std::vector<uint32_t> inCmx;
  std::vector<uint32_t> inDdr;
  for (uint32_t i = 0; i < plan.buffers.size(); ++i) {
    if (plan.buffers[i].isFixed || lifetimes[i].isEmpty()) continue;
    (plan.buffers[i].tiles == 0 ? inDdr : inCmx).push_back(i);
  }
  BufferPlacement placement{.addresses = std::vector<uint64_t>(plan.buffers.size()), .scratchBytes = 0};
  const CompactLimits ddr = {.capacityBytes = machine.ddrBytes, .tasksAhead = 0};
  const auto used = placeCompactly(plan, lifetimes, inDdr, ddr, placement.addresses);
  if (!used) return ddrExhausted(plan, inDdr, machine);
  placement.scratchBytes = *used;
  std::vector<BufferPlacement> placements(2, placement);
  const auto failed = scanCmx(plan, lifetimes, machine.cmxBytes, placements[0].addresses);
  const bool isAhead = placeAhead(plan, lifetimes, inCmx, machine.cmxBytes, placements[1].addresses);
  if (failed && !isAhead) return cmxExhausted(plan, lifetimes, *failed, machine);
  if (!isAhead) placements.pop_back();
  if (failed) placements.erase(placements.begin());
  return placements;
}

}  // namespace firn::target
