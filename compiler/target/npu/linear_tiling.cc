#include "compiler/target/npu/linear_tiling.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/concat.h"
#include "blob/machine/cost.h"

namespace firn::target::npu {
namespace {

constexpr uint64_t kHalf = 2;    // bytes
constexpr uint64_t kSingle = 4;  // bytes

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
uint64_t product(int64_t a, int64_t b) { return static_cast<uint64_t>(a) * static_cast<uint64_t>(b); }

/// One candidate and what it takes.
class Candidate {
 public:
  Candidate(const machine::Machine& machine, const LinearShape& shape, const LinearTiling& tiling)
      : machine_(machine), shape_(shape), tiling_(tiling) {}

  /// CMX of one tile: what is loaded while what came before is used is there once more than it is used at once. `lean`:
  /// nothing is there more than once, and loads wait.
  uint64_t bytes(bool lean) const {
    const uint64_t ahead = lean ? 0 : 2;  // of what is stored; weights that are brought to f16 come from there
    const uint64_t twice = lean ? 1 : 2;
    const uint64_t input = product(tiling_.mBlock, tiling_.kChunk) * kHalf;
    const uint64_t loaded =
        shape_.casts ? twice * product(castRows(machine_, tiling_.mBlock, tiling_.kChunk), tiling_.kChunk) * kSingle
                     : 0;
    const uint64_t norm = shape_.norms ? product(1, shape_.k) * kSingle : 0;
    uint64_t weights = (width() + ahead) * storedBytes() / static_cast<uint64_t>(sharers());
    if (expands()) weights += (width() + twice - 1) * halfBytes();
    if (shape_.form == WeightForm::kHalf) weights = (width() + ahead) * halfBytes();
    const uint64_t out = results() * kSingle;
    uint64_t kept = (isWhole() ? twice : 1) * width() * out +
                    (twice + 1) * std::min(out, product(tiling_.mBlock, sliceColumns(tiling_.mBlock)) * kSingle);
    if (tiling_.isNative) kept += twice * product(tiling_.mBlock, tiling_.nPiece) * kSingle * chunkGroups();
    // The f32 form of a whole x is gone before the first results are there.
    return isWhole() ? input + std::max(loaded + norm, weights + kept) : twice * input + loaded + weights + kept;
  }

  /// All engines work at once: the busiest of them says how long it takes, or the memory.
  uint64_t picoseconds() const {
    const uint64_t steps = product(blocks() * chunks(), depths());
    const uint64_t memory = machine::transferPicoseconds(ddrBytes(), machine_.ddrMegabytesPerSecond);
    const uint64_t busiest = std::max(steps * std::max({dpu(), shave(), dma() / machine_.dmaEngines}), memory);
    // The last step ends behind its last load, and an engine in its latency leaves the memory to the other one alone.
    constexpr uint64_t kLatencyShare = 4;
    return busiest + dpu() + shave() + steps * latencies() / machine_.dmaEngines / kLatencyShare;
  }

 private:
  bool isWhole() const { return tiling_.kChunk == shape_.k; }
  bool expands() const { return shape_.form != WeightForm::kHalf && !tiling_.isNative; }
  /// Tiles that bring a chunk of weights to f16 together.
  int64_t sharers() const { return tiling_.byRows ? machine_.tiles : 1; }
  uint64_t halfBytes() const { return product(tiling_.nPiece, tiling_.kChunk) * kHalf; }
  uint64_t storedBytes() const {
    return shape_.rowBytes * static_cast<uint64_t>(tiling_.kChunk) / static_cast<uint64_t>(shape_.k) *
           static_cast<uint64_t>(tiling_.nPiece);
  }
  uint64_t chunkGroups() const {
    return static_cast<uint64_t>(std::max<int64_t>(1, shape_.groups * tiling_.kChunk / shape_.k));
  }
  int64_t depths() const { return ceilDiv(shape_.k, tiling_.kChunk); }
  int64_t blocks() const {
    const int64_t own = tiling_.byRows ? ceilDiv(ceilDiv(shape_.m, kGridUnit), machine_.tiles) * kGridUnit : shape_.m;
    return ceilDiv(own, tiling_.mBlock);
  }
  int64_t chunks() const {
    const int64_t own = tiling_.byRows ? shape_.n : ceilDiv(ceilDiv(shape_.n, kGridUnit), machine_.tiles) * kGridUnit;
    return ceilDiv(own, tiling_.nChunk);
  }

  uint64_t pieces() const { return static_cast<uint64_t>(ceilDiv(tiling_.nChunk, tiling_.nPiece)); }
  uint64_t width() const { return static_cast<uint64_t>(shape_.width); }
  uint64_t results() const { return product(tiling_.mBlock, tiling_.nChunk); }

  // Of one step: a chunk of results, for a piece of k.

  uint64_t dpu() const {
    machine::Matmul matmul = {.m = static_cast<uint32_t>(std::min(tiling_.mBlock, shape_.m)),
                              .n = static_cast<uint32_t>(tiling_.nPiece),
                              .k = static_cast<uint32_t>(tiling_.kChunk)};
    if (tiling_.isNative) {
      matmul.weightBits = shape_.codeBits;
      matmul.groups = static_cast<uint32_t>(chunkGroups());
    }
    return width() * pieces() * machine::dpuWork(machine_, matmul).fixedPicoseconds;
  }

  uint64_t kernel(std::string_view name, uint64_t elements) const {
    return machine::shaveWork(machine_, name, elements).fixedPicoseconds;
  }

  uint64_t shave() const {
    uint64_t sum = 0;
    if (expands()) sum += width() * pieces() * kernel("expand", halfBytes() / kHalf / static_cast<uint64_t>(sharers()));
    const uint64_t terms = shape_.hasMins ? 2 : 1;
    const uint64_t sums = terms * product(tiling_.mBlock, tiling_.nPiece) * chunkGroups();
    if (tiling_.isNative) sum += width() * pieces() * kernel("accumulate", sums);
    if (shape_.casts && !isWhole()) sum += kernel("cast", product(tiling_.mBlock, tiling_.kChunk));
    const auto last = static_cast<uint64_t>(depths());  // what stands behind the products comes once in so many steps
    if (shape_.width > 1) sum += kernel("silu_mul", results()) / last;
    if (shape_.adds) sum += kernel("add", results()) / last;
    return sum;
  }

  uint64_t copy(uint64_t bytes, bool touchesDdr) const {
    const machine::Work work = machine::dmaWork(machine_, bytes, touchesDdr);
    return work.fixedPicoseconds + machine::transferPicoseconds(bytes, machine::engineBytesPerMicrosecond(machine_));
  }

  /// Copies of a step that touch DDR, of all tiles: weights in, results out.
  uint64_t copies() const {
    const uint64_t planes = shape_.form == WeightForm::kGroups ? 2 : 1;
    return machine_.tiles * (width() * pieces() * planes + 1);
  }
  uint64_t latencies() const { return copies() * copy(0, true); }

  /// Of all DMA engines together.
  uint64_t dma() const {
    const uint64_t tiles = machine_.tiles;
    const auto shares = static_cast<uint64_t>(sharers());
    const uint64_t planes = shape_.form == WeightForm::kGroups ? 2 : 1;
    const uint64_t latency = copy(0, true);
    uint64_t sum = width() * pieces() * tiles * (copy(storedBytes() / shares, true) + (planes - 1) * latency);
    if (expands() && tiling_.byRows) sum += width() * pieces() * tiles * copy(halfBytes() / shares, false);
    if (!isWhole()) sum += (tiling_.byRows ? tiles : 1) * copy(product(tiling_.mBlock, tiling_.kChunk) * kHalf, true);
    const uint64_t ways = shape_.adds ? 2 : 1;
    return sum + ways * tiles * copy(results() * kSingle, true) / static_cast<uint64_t>(depths());
  }

  /// Of the whole layer.
  uint64_t ddrBytes() const {
    const auto reads = static_cast<uint64_t>(isWhole() ? 1 : chunks());  // of x
    const uint64_t weightReads = tiling_.byRows ? static_cast<uint64_t>(blocks()) : 1;
    return width() * weightReads * shape_.rowBytes * static_cast<uint64_t>(shape_.n) +
           reads * product(shape_.m, shape_.k) * kHalf + product(shape_.m, shape_.n) * kSingle;
  }

  const machine::Machine& machine_;
  const LinearShape& shape_;
  const LinearTiling& tiling_;
};

/// The candidates of one shape, and the fastest of those that fit.
class Search {
 public:
  Search(const machine::Machine& machine, const LinearShape& shape)
      : machine_(machine), shape_(shape), perTile_(ceilDiv(ceilDiv(shape.m, kGridUnit), machine.tiles) * kGridUnit) {}

  /// Looks through chunks of these sizes.
  void run(std::span<const int64_t> chunks, std::span<const int64_t> pieces, bool lean) {
    constexpr std::array<int64_t, 6> kDepths = {0, 4096, 2048, 1024, 512, 256};  // 0: all of k
    for (const int64_t depth : kDepths) {
      const int64_t kChunk = depth == 0 ? shape_.k : depth;
      if (depth != 0 && (shape_.needsWhole || kChunk >= shape_.k || kChunk % shape_.blockElements != 0)) continue;
      for (const int64_t nChunk : chunks) {
        if (nChunk > std::max(shape_.n, shape_.columnUnit) * 2 || nChunk % shape_.columnUnit != 0) continue;
        offerPieces(std::min(nChunk, shape_.n), kChunk, pieces, lean);
      }
    }
  }

  const std::optional<LinearTiling>& best() const { return best_; }
  uint64_t leastBytes() const { return least_; }

 private:
  void offerPieces(int64_t chunk, int64_t kChunk, std::span<const int64_t> pieces, bool lean) {
    constexpr int64_t kFineParts = 16;  // from there on not every number of parts is tried
    for (const int64_t count : pieces) {
      const int64_t piece = ceilDiv(chunk, count);
      if (count > 1 && piece % kGridUnit != 0) continue;
      offer({false, false, shape_.m, chunk, piece, kChunk}, lean);
      if (shape_.form == WeightForm::kGroups) offer({false, true, shape_.m, chunk, piece, kChunk}, lean);
      for (int64_t parts = 1; shape_.m > kGridUnit && parts <= perTile_ / kGridUnit; parts += 1 + parts / kFineParts) {
        offer({true, false, ceilDiv(perTile_ / kGridUnit, parts) * kGridUnit, chunk, piece, kChunk}, lean);
      }
    }
  }

  void offer(LinearTiling tiling, bool lean) {
    const Candidate candidate(machine_, shape_, tiling);
    const uint64_t bytes = candidate.bytes(lean);
    least_ = std::min(least_, bytes);
    // Without a second place for anything, gaps between buffers of other sizes are all the room that is left.
    const uint64_t gaps = lean ? machine_.cmxBytes / 8 : 0;
    if (bytes + gaps > machine_.cmxBytes) return;
    tiling.picoseconds = candidate.picoseconds();
    if (!best_ || tiling.picoseconds < best_->picoseconds) best_ = tiling;
  }

  const machine::Machine& machine_;
  const LinearShape& shape_;
  int64_t perTile_;  ///< rows of x, of tilings by rows
  std::optional<LinearTiling> best_;
  uint64_t least_ = UINT64_MAX;
};

}  // namespace

int64_t castRows(const machine::Machine& machine, int64_t rows, int64_t columns) {
  constexpr uint64_t kShareOfTile = 4;
  const auto most = static_cast<int64_t>(machine.cmxBytes / kShareOfTile / kSingle) / columns;
  return std::min({rows, kGridUnit, std::max<int64_t>(1, most)});
}

Result<LinearTiling> chooseTiling(const machine::Machine& machine, const LinearShape& shape, Room room) {
  constexpr std::array<int64_t, 13> kChunks = {16, 32, 48, 64, 96, 128, 192, 256, 352, 384, 512, 704, 1024};
  constexpr std::array<int64_t, 4> kPieces = {1, 2, 4, 8};
  const bool lean = room == Room::kLean;
  Search search(machine, shape);
  search.run(kChunks, kPieces, lean);
  if (search.best()) return *search.best();
  // Heads of odd sizes, and small chips: whatever multiple of a head, in pieces as small as the grid.
  const std::array<int64_t, 4> heads = {shape.columnUnit, 2 * shape.columnUnit, 4 * shape.columnUnit,
                                        8 * shape.columnUnit};
  std::vector<int64_t> pieces;
  for (int64_t count = 1; count <= ceilDiv(heads.back(), kGridUnit); ++count) pieces.push_back(count);
  search.run(heads, pieces, lean);
  if (search.best()) return *search.best();
  return resourceExhausted(concat("a linear layer [", shape.n, ", ", shape.k, "] for ", shape.m,
                                  " rows needs at least ", search.leastBytes(), " bytes of CMX, a tile of ",
                                  machine.name, " has ", machine.cmxBytes));
}

}  // namespace firn::target::npu
