#include "compiler/target/npu/cmx_scan.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <queue>
#include <utility>

namespace firn::target {
namespace {

constexpr uint32_t kTaken = UINT32_MAX;

/// A stretch of a tile, up to the begin of the next piece.
struct Piece {
  uint64_t begin = 0;
  uint32_t died = 0;  ///< 0: never used; kTaken; else 1 + the last task that touched what was here
};

/// All of a tile, or of several tiles seen as one; the last piece is empty, taken and begins at the tile's end.
using Pieces = std::vector<Piece>;

Pieces::iterator splitAt(Pieces& pieces, uint64_t address) {
  const auto piece = std::upper_bound(pieces.begin(), pieces.end(), address,
                                      [](uint64_t value, const Piece& other) { return value < other.begin; }) -
                     1;
  return piece->begin == address ? piece : pieces.insert(piece + 1, {address, piece->died});
}

/// Sets [begin, end) to `died` and joins what is equal.
void assign(Pieces& pieces, uint64_t begin, uint64_t end, uint32_t died) {
  splitAt(pieces, end);
  const auto first = splitAt(pieces, begin);
  first->died = died;
  auto behind = first + 1;
  while (behind->begin < end || (behind->died == died && behind + 1 != pieces.end())) ++behind;
  const bool joinsLeft = first != pieces.begin() && (first - 1)->died == died;
  pieces.erase(joinsLeft ? first : first + 1, behind);
}

/// Where a stretch is free in both, and when the later of its two occupants died.
Pieces bothOf(const Pieces& a, const Pieces& b) {
  Pieces both;
  both.reserve(a.size() + b.size());
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    both.push_back({std::max(a[i].begin, b[j].begin), std::max(a[i].died, b[j].died)});
    const uint64_t endA = i + 1 < a.size() ? a[i + 1].begin : UINT64_MAX;
    const uint64_t endB = j + 1 < b.size() ? b[j + 1].begin : UINT64_MAX;
    i += endA <= endB ? 1 : 0;
    j += endB <= endA ? 1 : 0;
  }
  return both;
}

struct Window {
  uint64_t begin = 0;
  uint32_t died = kTaken;
};

/// The window of `bytes` whose latest death is the earliest: it can be moved until it begins or ends with a piece.
/// Among equals the lowest, or the highest.
Window bestWindow(const Pieces& pieces, uint64_t bytes, bool isHighBetter) {
  Window best;
  const auto offer = [&](uint64_t begin, uint32_t died) {
    const bool isBetterPlace = isHighBetter ? begin > best.begin : begin < best.begin;
    if (died < best.died || (died == best.died && died != kTaken && isBetterPlace)) best = {begin, died};
  };
  for (size_t i = 0; i + 1 < pieces.size(); ++i) {
    uint32_t died = pieces[i].died;
    for (size_t j = i; j + 1 < pieces.size() && died <= best.died; died = std::max(died, pieces[++j].died)) {
      if (pieces[j + 1].begin - pieces[i].begin < bytes) continue;
      offer(pieces[i].begin, died);
      break;
    }
    const uint64_t end = pieces[i + 1].begin;
    died = pieces[i].died;
    for (size_t j = i; died <= best.died; died = std::max(died, pieces[--j].died)) {
      if (end - pieces[j].begin >= bytes) {
        offer(end - bytes, died);
        break;
      }
      if (j == 0) break;
    }
  }
  return best;
}

class Scan {
 public:
  Scan(const Plan& plan, std::span<const Lifetime> lifetimes, uint64_t bytes)
      : plan_(plan), lifetimes_(lifetimes), tileBytes_(bytes / kPlacementBytes * kPlacementBytes) {
    tiles_.assign(64, {{0, tileBytes_ == 0 ? kTaken : 0}, {tileBytes_, kTaken}});
  }

  std::optional<uint32_t> run(std::vector<uint64_t>& addresses) {
    for (const uint32_t buffer : inOrderOfBirth()) {
      while (!alive_.empty() && alive_.top().first < lifetimes_[buffer].first) release(addresses);
      const uint64_t bytes = placedBytes(plan_.buffers[buffer]);
      const Window window = find(plan_.buffers[buffer].tiles, bytes);
      if (window.died == kTaken) return buffer;
      addresses[buffer] = window.begin;
      setTiles(buffer, window.begin, kTaken);
      alive_.emplace(lifetimes_[buffer].last, buffer);
    }
    return std::nullopt;
  }

 private:
  /// Of those born at one task the largest first.
  std::vector<uint32_t> inOrderOfBirth() const {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < plan_.buffers.size(); ++i) {
      if (plan_.buffers[i].tiles != 0 && !lifetimes_[i].isEmpty()) order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      if (lifetimes_[a].first != lifetimes_[b].first) return lifetimes_[a].first < lifetimes_[b].first;
      if (plan_.buffers[a].bytes != plan_.buffers[b].bytes) return plan_.buffers[a].bytes > plan_.buffers[b].bytes;
      return a < b;
    });
    return order;
  }

  void release(const std::vector<uint64_t>& addresses) {
    const auto [last, buffer] = alive_.top();
    alive_.pop();
    setTiles(buffer, addresses[buffer], last + 1);
  }

  void setTiles(uint32_t buffer, uint64_t begin, uint32_t died) {
    const uint64_t end = begin + placedBytes(plan_.buffers[buffer]);
    for (uint64_t rest = plan_.buffers[buffer].tiles; rest != 0; rest &= rest - 1) {
      assign(tiles_[static_cast<size_t>(std::countr_zero(rest))], begin, end, died);
    }
  }

  /// What never was used is taken from both ends, small buffers from above, so that they do not cut up the rest.
  Window find(uint64_t tiles, uint64_t bytes) const {
    const bool isSmall = bytes < tileBytes_ / 32;
    const Pieces* pieces = &tiles_[static_cast<size_t>(std::countr_zero(tiles))];
    Pieces merged;
    for (uint64_t rest = tiles & (tiles - 1); rest != 0; rest &= rest - 1) {
      merged = bothOf(*pieces, tiles_[static_cast<size_t>(std::countr_zero(rest))]);
      pieces = &merged;
    }
    return bestWindow(*pieces, bytes, isSmall);
  }

  using Death = std::pair<uint32_t, uint32_t>;  ///< last task, buffer

  const Plan& plan_;
  std::span<const Lifetime> lifetimes_;
  uint64_t tileBytes_;
  std::vector<Pieces> tiles_;
  std::priority_queue<Death, std::vector<Death>, std::greater<>> alive_;
};

}  // namespace

std::optional<uint32_t> scanCmx(const Plan& plan, std::span<const Lifetime> lifetimes, uint64_t bytes,
                                std::vector<uint64_t>& addresses) {
  return Scan(plan, lifetimes, bytes).run(addresses);
}

}  // namespace firn::target
