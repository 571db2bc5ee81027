// How an attention is cut into units and blocks that fit CMX. Not here: the tasks (attention.h). No MLIR.
#pragma once

#include <compare>
#include <cstdint>

#include "base/status.h"
#include "blob/machine/machine.h"

namespace firn::target::npu {

struct AttentionShape {
  int64_t m = 0;        ///< tokens
  int64_t kvHeads = 0;  ///< each with `group` query heads
  int64_t group = 0;
  int64_t headDim = 0;
  int64_t context = 0;  ///< cache rows

  friend auto operator<=>(const AttentionShape&, const AttentionShape&) = default;
};

struct AttentionTiling {
  int64_t tokens = 0;       ///< of a unit, which one tile works on; all query heads of one KV head
  int64_t rows = 0;         ///< cache rows of a block, at most
  bool sharesMask = false;  ///< the mask lies whole in all tiles; else each block brings its part
};

/// Cache rows of a block are a multiple of it, unless memory is short.
inline constexpr int64_t kBlockUnit = 64;

/// The largest units and blocks that fit, with room for the scores of two blocks where there is any.
/// resource_exhausted, naming the bytes that the smallest ones need and the tile's: none fits.
Result<AttentionTiling> chooseTiling(const machine::Machine& machine, const AttentionShape& shape);

}  // namespace firn::target::npu
