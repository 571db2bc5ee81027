// Puts buffers into little memory when all lifetimes are known before: the largest first, each as low as those that
// live at the same time let it. For DDR scratch, and for CMX where the scan over the program (cmx_scan.h) leaves holes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/target/npu/lifetimes.h"

namespace firn::target {

struct CompactLimits {
  uint64_t capacityBytes = 0;  ///< of each tile, or of DDR scratch
  uint32_t tasksAhead = 0;     ///< places are also kept free for this many tasks before a buffer's first access
};

/// Gives `addresses` to the buffers `chosen`, and says how many bytes are used; nothing where they do not fit. Buffers
/// meet if they share a tile, or if both lie in DDR. O(n log n) for n buffers, plus those alive together.
std::optional<uint64_t> placeCompactly(const Plan& plan, std::span<const Lifetime> lifetimes,
                                       std::span<const uint32_t> chosen, const CompactLimits& limits,
                                       std::vector<uint64_t>& addresses);

}  // namespace firn::target
