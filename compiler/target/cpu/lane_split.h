// How the cpu target divides heads and columns among lanes. Pure arithmetic: no IR, no weights.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/target/body_lowering.h"

namespace firn::target {

/// `total` columns in runs for `lanes` lanes, each boundary a multiple of `unit`; as even as the units allow. Lanes
/// beyond the units get nothing.
std::vector<Range> splitColumns(int64_t total, int64_t unit, int lanes);

/// Heads of each lane.
struct HeadSplit {
  std::vector<Range> query;
  std::vector<Range> kv;  ///< heads whose K and V this lane computes and writes
};

/// Query heads in units whose columns are a multiple of 32, so that the output projection can be split along K with
/// whole groups. KV heads go one by one to the lane with the least work (a KV head is two projections).
HeadSplit splitHeads(int64_t heads, int64_t kvHeads, int64_t headDim, int lanes);

}  // namespace firn::target
