#include "compiler/target/npu/attention_tiling.h"

#include <algorithm>

#include "base/concat.h"

namespace firn::target::npu {
namespace {

constexpr int64_t kHalf = 2;    // bytes
constexpr int64_t kSingle = 4;  // bytes
/// Rows of scores at most: query heads that share a KV head times tokens.
constexpr int64_t kScoreRows = 256;
/// Cache rows of a block where memory is short of kBlockUnit, and at most.
constexpr int64_t kFewestRows = 16;
constexpr int64_t kMostRows = 1024;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Tokens of a unit where memory is no matter: enough units to even out their lengths.
int64_t evenTokens(const machine::Machine& machine, const AttentionShape& shape) {
  constexpr int64_t kUnitsOfTile = 3;
  const int64_t perUnit = std::max<int64_t>(1, kScoreRows / shape.group);
  const int64_t even = ceilDiv(shape.m * shape.kvHeads, machine.tiles * kUnitsOfTile);
  return std::min({perUnit, std::max<int64_t>(1, even), shape.m});
}

/// What a tile holds of one unit.
struct Room {
  int64_t kept = 0;   ///< bytes from block to block
  int64_t ofRow = 0;  ///< bytes for a cache row of a block
};

/// `sets`: blocks that have scores at once.
Room roomOf(const AttentionShape& shape, int64_t tokens, int64_t sets, bool sharesMask) {
  const int64_t rows = tokens * shape.group;
  constexpr int64_t kQueriesAndOutput = 3;  // this unit's and the next one's, and what leaves
  Room room;
  room.kept = rows * shape.headDim * (kSingle + kHalf * (sets > 1 ? kQueriesAndOutput : 2)) + 3 * rows * kSingle;
  room.kept += sharesMask ? shape.context : 0;
  room.ofRow = sets * rows * (kSingle + kHalf) + 2 * shape.headDim * kHalf + (sharesMask ? 0 : 1);
  return room;
}

}  // namespace

Result<AttentionTiling> chooseTiling(const machine::Machine& machine, const AttentionShape& shape) {
  constexpr int64_t kMaskShare = 8;  // of a tile
  const auto all = static_cast<int64_t>(machine.cmxBytes);
  const bool sharesMask = shape.context <= all / kMaskShare;
  for (int64_t tokens = evenTokens(machine, shape);; tokens = ceilDiv(tokens, 2)) {
    for (const auto& [sets, unit] : {std::pair{2, kBlockUnit}, {1, kBlockUnit}, {1, kFewestRows}}) {
      const Room room = roomOf(shape, tokens, sets, sharesMask);
      const int64_t gaps = sets > 1 ? 0 : all / kMaskShare;  // between buffers of other sizes
      const int64_t fit = (all - gaps - room.kept) / room.ofRow / unit * unit;
      if (fit >= unit && (unit == kBlockUnit || tokens == 1))
        return AttentionTiling{tokens, std::min(fit, kMostRows), sharesMask};
    }
    if (tokens > 1) continue;
    const Room least = roomOf(shape, 1, 1, sharesMask);
    return resourceExhausted(concat("an attention of ", shape.group, " query heads a KV head of ", shape.headDim,
                                    " over ", shape.context, " cache rows needs at least ",
                                    least.kept + kFewestRows * least.ofRow, " bytes of CMX, a tile of ", machine.name,
                                    " has ", machine.cmxBytes));
  }
}

}  // namespace firn::target::npu
