#include "runtime/devices/npu/cmx_use.h"

#include <algorithm>
#include <bit>
#include <map>

#include "blob/npu_task_rules.h"

namespace firn::runtime {
namespace {

using blob::TaskOp;

/// What one tile holds, as the tasks go by in the order of their begin.
class Tile {
 public:
  explicit Tile(uint32_t number) : number_(number) {}

  /// The bytes stay in use until `end`.
  void touch(uint64_t first, uint64_t bytes, uint64_t end) {
    for (auto piece = firstTouching(first); piece != pieces_.end() && piece->first < first + bytes; ++piece) {
      piece->second.end = std::max(piece->second.end, end);
    }
  }

  /// New bytes take the place of what was there.
  void write(const CmxUse& use, std::vector<CmxUse>& done) {
    const uint64_t last = use.first + use.bytes;
    for (auto piece = firstTouching(use.first); piece != pieces_.end() && piece->first < last;) {
      const CmxUse old = piece->second;
      const uint64_t oldLast = old.first + old.bytes;
      piece = pieces_.erase(piece);
      const uint64_t from = std::max(old.first, use.first);
      const uint64_t to = std::min(oldLast, last);
      close(old, from, to, use.begin, done);
      if (old.first < from) keep(old, old.first, from);
      if (oldLast > to) keep(old, to, oldLast);
    }
    pieces_[use.first] = use;
  }

  void closeAll(std::vector<CmxUse>& done) {
    for (const auto& [first, use] : pieces_) {
      if (use.begin < use.end) done.push_back(use);
    }
  }

  uint32_t number() const { return number_; }

 private:
  using Pieces = std::map<uint64_t, CmxUse>;

  Pieces::iterator firstTouching(uint64_t first) {
    auto piece = pieces_.upper_bound(first);
    if (piece == pieces_.begin()) return piece;
    const auto before = std::prev(piece);
    return before->first + before->second.bytes > first ? before : piece;
  }

  /// A use ends when its bytes are written anew, if not before.
  static void close(CmxUse use, uint64_t from, uint64_t to, uint64_t most, std::vector<CmxUse>& done) {
    use.first = from;
    use.bytes = to - from;
    use.end = std::min(use.end, most);
    if (use.begin < use.end) done.push_back(use);
  }

  void keep(CmxUse use, uint64_t from, uint64_t to) {
    use.first = from;
    use.bytes = to - from;
    pieces_[from] = use;
  }

  uint32_t number_;
  Pieces pieces_;  ///< by first byte; they do not overlap
};

/// The tiles in which the operand lies.
uint64_t tilesOf(TaskOp op, const blob::OperandRecord& operand, blob::Access access, std::span<const uint64_t> attrs) {
  const uint64_t own = uint64_t{1} << operand.base;
  return op == TaskOp::kNpuCopy && access == blob::Access::kWrite ? own | attrs[0] : own;
}

}  // namespace

std::vector<CmxUse> cmxUsesOf(const blob::Blob& blob, const BodyTimeline& body) {
  constexpr uint32_t kMostTiles = 64;
  std::vector<Tile> tiles;
  for (uint32_t tile = 0; tile < kMostTiles; ++tile) tiles.emplace_back(tile);
  std::vector<CmxUse> uses;
  for (const uint32_t index : body.timeline.order) {
    const blob::TaskRecord& task = blob.tasks()[body.firstTask + index];
    const auto op = static_cast<TaskOp>(task.op);
    const auto operands = blob.operandsOf(task);
    const auto attrs = blob.attrsOf(task);
    const machine::Interval& interval = body.timeline.tasks[index];
    for (uint32_t i = 0; i < operands.size(); ++i) {
      const blob::OperandRecord& operand = operands[i];
      if (operand.space != blob::Space::kCmx) continue;
      const blob::Access access = blob::npuAccess(op, i, task.operandCount, attrs);
      for (uint64_t mask = tilesOf(op, operand, access, attrs); mask != 0; mask &= mask - 1) {
        Tile& tile = tiles[static_cast<size_t>(std::countr_zero(mask))];
        if (access != blob::Access::kWrite) {
          tile.touch(operand.offset, operand.bytes, interval.end);
          continue;
        }
        tile.write({.tile = tile.number(),
                    .first = operand.offset,
                    .bytes = operand.bytes,
                    .begin = interval.begin,
                    .end = interval.end,
                    .task = index},
                   uses);
      }
    }
  }
  for (Tile& tile : tiles) tile.closeAll(uses);
  return uses;
}

}  // namespace firn::runtime
