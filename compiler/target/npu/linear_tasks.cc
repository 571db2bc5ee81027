#include "compiler/target/npu/linear_tasks.h"

#include <algorithm>
#include <numeric>

#include "compiler/target/npu/linear_weights.h"

namespace firn::target::npu {
namespace {

/// Rows and columns of the result that a tile works on.
struct Share {
  int64_t tile = 0;
  Range rows;
  Range columns;
};

uint64_t tilesOf(llvm::ArrayRef<Share> shares) {
  uint64_t tiles = 0;
  for (const Share& share : shares) tiles |= uint64_t{1} << share.tile;
  return tiles;
}

int64_t mostRows(llvm::ArrayRef<Share> shares) {
  int64_t rows = 0;
  for (const Share& share : shares) rows = std::max(rows, share.rows.count);
  return rows;
}

Tensor rowsOf(const OnChip& buffer, const Share& share) { return buffer.in(share.tile).slice(0, share.rows.count); }

/// x on chip, and what native products need of it.
struct Input {
  OnChip half;                      ///< f16 [rows, depth]
  std::optional<OnChip> sums;       ///< f32 [rows, groups]: where weights have mins
  std::optional<OnChip> positions;  ///< i32 [rows]: where results are turned
  std::optional<OnChip> freqs;
};

class LinearTasks {
 public:
  LinearTasks(NpuBody& npu, const LinearGroup& group, const LinearTiling& tiling)
      : npu_(npu), weights_(npu), group_(group), tiling_(tiling), m_(group.x.dims[0]), k_(group.x.dims[1]) {}

  void emit() {
    if (tiling_.byRows) {
      emitByRows();
    } else {
      emitByColumns();
    }
  }

 private:
  bool isWhole() const { return tiling_.kChunk == k_; }
  bool isGated() const { return !group_.gate.empty(); }
  int64_t columnsOf(const Layer& layer) const { return layer.weights.rows.dims[0]; }

  static int64_t unitOf(const Layer& layer) {
    return layer.turn ? std::lcm(kGridUnit, layer.turn->headDim) : kGridUnit;
  }

  /// Layers whose results are made chunk by chunk together.
  std::vector<llvm::ArrayRef<Layer>> bundles() const {
    const llvm::ArrayRef<Layer> layers = group_.layers;
    if (isGated()) return {layers};
    std::vector<llvm::ArrayRef<Layer>> single;
    for (size_t i = 0; i < layers.size(); ++i) single.push_back(layers.slice(i, 1));
    return single;
  }

  /// All tiles walk the chunks of W together.
  void emitByRows() {
    const std::vector<Range> rows = splitEvenly(m_, npu_.tiles(), kGridUnit);
    for (int64_t block = 0;; block += tiling_.mBlock) {
      std::vector<Share> shares;
      for (int64_t tile = 0; tile < npu_.tiles(); ++tile) {
        const Range own = rows[static_cast<size_t>(tile)];
        if (block >= own.count) continue;
        shares.push_back({tile, {own.first + block, std::min(tiling_.mBlock, own.count - block)}, {}});
      }
      if (shares.empty()) return;
      std::optional<Input> x;
      if (isWhole()) x = loadInput(shares, {0, k_});
      for (const llvm::ArrayRef<Layer> layers : bundles()) {
        const int64_t columns = columnsOf(layers.front());
        for (int64_t first = 0; first < columns; first += tiling_.nChunk) {
          for (Share& share : shares) share.columns = {first, std::min(tiling_.nChunk, columns - first)};
          emitChunk(layers, shares, x);
        }
      }
    }
  }

  /// Each tile has rows of W of its own; x goes to all tiles at once.
  void emitByColumns() {
    std::vector<Share> all;
    for (int64_t tile = 0; tile < npu_.tiles(); ++tile) all.push_back({tile, {0, m_}, {}});
    std::optional<Input> x;
    if (isWhole()) x = loadInput(all, {0, k_});
    for (const llvm::ArrayRef<Layer> layers : bundles()) {
      const std::vector<Range> columns = splitEvenly(columnsOf(layers.front()), npu_.tiles(), unitOf(layers.front()));
      int64_t most = 0;
      for (const Range& range : columns) most = std::max(most, range.count);
      for (int64_t at = 0; at < most; at += tiling_.nChunk) {
        std::vector<Share> shares;
        for (const Share& share : all) {
          const Range own = columns[static_cast<size_t>(share.tile)];
          if (at >= own.count) continue;
          shares.push_back(share);
          shares.back().columns = {own.first + at, std::min(tiling_.nChunk, own.count - at)};
        }
        if (isWhole()) {
          for (const Share& share : shares) emitChunk(layers, {share}, x);
        } else {
          emitInPieces(layers, shares);
        }
      }
    }
  }

  /// Each share its columns, all of them piece by piece of k: a piece of x is loaded once for all.
  void emitInPieces(llvm::ArrayRef<Layer> layers, llvm::ArrayRef<Share> shares) {
    const Layer& layer = layers.front();
    std::vector<OnChip> results;
    for (const Share& share : shares) {
      const uint64_t tile = uint64_t{1} << share.tile;
      results.push_back(npu_.onChip("y", tile, DType::kF32, {share.rows.count, share.columns.count}));
    }
    Input x;
    for (int64_t first = 0; first < k_; first += tiling_.kChunk) {
      const Range depth = {first, std::min(tiling_.kChunk, k_ - first)};
      x = loadInput(shares, depth);
      for (auto [share, result] : llvm::zip(shares, results)) multiply(layer, {share}, x, depth, result);
    }
    for (auto [share, result] : llvm::zip(shares, results)) {
      if (layer.bias) addBias(layer, {share}, result);
      finish(layers, share, {result}, x);
    }
  }

  /// Columns `depth` of x, for each share its rows, as f16, normed where the group is.
  Input loadInput(llvm::ArrayRef<Share> shares, Range depth) {
    Input input;
    const uint64_t tiles = tilesOf(shares);
    const bool isHalf = group_.x.dtype == DType::kF16;
    input.half = npu_.onChip("x", tiles, DType::kF16, {mostRows(shares), depth.count});
    std::optional<OnChip> norm;
    if (group_.normWeight) {
      norm = npu_.onChip("norm", tiles, DType::kF32, {k_});
      npu_.load(*group_.normWeight, *norm, group_.normName);
    }
    // Rows come in pieces, so that their f32 form takes little room beside all of the f16 form.
    const int64_t step = isHalf ? mostRows(shares) : castRows(npu_.machine(), mostRows(shares), depth.count);
    for (int64_t first = 0; first < mostRows(shares); first += step) {
      const OnChip loaded = isHalf ? input.half : npu_.onChip("x32", tiles, DType::kF32, {step, depth.count});
      for (const Share& share : shares) {
        const Range rows = {first, std::min(step, share.rows.count - first)};
        if (rows.count <= 0) continue;
        loadRows(shares, share, rows, depth, loaded);
      }
      if (!isHalf) bringToHalf(shares, {first, step}, loaded, norm, input.half);
    }
    if (tiling_.isNative && needsSums()) addSums(shares, depth, input);
    auto turned = llvm::find_if(group_.layers, [](const Layer& layer) { return layer.turn.has_value(); });
    if (turned != group_.layers.end()) loadTurn(shares, *turned->turn, input);
    return input;
  }

  /// Rows [rows) of the share: of all shares at once where they have the same.
  void loadRows(llvm::ArrayRef<Share> shares, const Share& share, Range rows, Range depth, const OnChip& to) {
    const Tensor from = part(group_.x, {share.rows.first + rows.first, rows.count}, depth);
    if (tiling_.byRows) {
      npu_.copy(from, to.in(share.tile).slice(0, rows.count), group_.layers.front().name);
    } else if (share.tile == shares.front().tile) {
      OnChip part = to;
      part.dims[0] = rows.count;
      npu_.load(from, part, group_.layers.front().name);
    }
  }

  void bringToHalf(llvm::ArrayRef<Share> shares, Range piece, const OnChip& loaded, const std::optional<OnChip>& norm,
                   const OnChip& half) {
    for (const Share& share : shares) {
      const int64_t count = std::min(piece.count, share.rows.count - piece.first);
      if (count <= 0) continue;
      const Tensor from = loaded.in(share.tile).slice(0, count);
      const Tensor to = half.in(share.tile).slice(piece.first, count);
      if (norm) {
        npu_.run("npu.rms_norm", group_.normName, {from, norm->in(share.tile), to}, {npu_.number(group_.eps)});
      } else {
        npu_.run("npu.cast", group_.layers.front().name, {from, to});
      }
    }
  }

  /// All layers of a group turn by the same frequencies, or by none.
  void loadTurn(llvm::ArrayRef<Share> shares, const Turn& turn, Input& input) {
    input.positions = npu_.onChip("positions", tilesOf(shares), DType::kI32, {mostRows(shares)});
    input.freqs = npu_.onChip("freqs", tilesOf(shares), DType::kF32, {turn.freqs.dims[0]});
    npu_.load(turn.freqs, *input.freqs, "rope");
    if (!tiling_.byRows) return npu_.load(turn.positions, *input.positions, "rope");
    for (const Share& share : shares) {
      npu_.copy(turn.positions.slice(share.rows.first, share.rows.count), rowsOf(*input.positions, share), "rope");
    }
  }

  bool needsSums() const {
    return llvm::any_of(group_.layers, [](const Layer& layer) { return layer.weights.mins.has_value(); });
  }

  int64_t groupsIn(const Layer& layer, Range depth) const { return layer.weights.scales.dims[1] * depth.count / k_; }

  void addSums(llvm::ArrayRef<Share> shares, Range depth, Input& input) {
    const int64_t groups = groupsIn(group_.layers.front(), depth);
    input.sums = npu_.onChip("sums", tilesOf(shares), DType::kF32, {mostRows(shares), groups});
    for (const Share& share : shares) {
      npu_.run("npu.group_sums", group_.layers.front().name, {rowsOf(input.half, share), rowsOf(*input.sums, share)});
    }
  }

  /// The results of `shares`, which have the same columns, of layers that are made together.
  void emitChunk(llvm::ArrayRef<Layer> layers, llvm::ArrayRef<Share> shares, const std::optional<Input>& whole) {
    const int64_t columns = shares.front().columns.count;
    std::vector<OnChip> results;
    Input last;
    for (const Layer& layer : layers) {
      const DType type = isPlain(layer) ? DType::kF16 : DType::kF32;
      results.push_back(npu_.onChip("y", tilesOf(shares), type, {mostRows(shares), columns}));
      for (int64_t first = 0; first < k_; first += tiling_.kChunk) {
        const Range depth = {first, std::min(tiling_.kChunk, k_ - first)};
        last = whole ? *whole : loadInput(shares, depth);
        multiply(layer, shares, last, depth, results.back());
      }
      if (layer.bias) addBias(layer, shares, results.back());
    }
    for (const Share& share : shares) finish(layers, share, results, last);
  }

  /// The DPU can write the result as it is kept.
  bool isPlain(const Layer& layer) const {
    return layer.out.dtype == DType::kF16 && isWhole() && !tiling_.isNative && !layer.bias && !layer.addend &&
           !layer.turn && !isGated();
  }

  /// Adds the products of columns `depth` of x to `out`, in pieces of W that have room.
  void multiply(const Layer& layer, llvm::ArrayRef<Share> shares, const Input& x, Range depth, const OnChip& out) {
    const Range columns = shares.front().columns;
    for (int64_t first = 0; first < columns.count; first += tiling_.nPiece) {
      const int64_t count = std::min(tiling_.nPiece, columns.count - first);
      const WeightBlock block = {{columns.first + first, count}, depth, k_};
      if (tiling_.isNative) {
        multiplyCodes(layer, shares, x, block, out);
      } else {
        multiplyHalf(layer, shares, x, block, out);
      }
    }
  }

  /// Where the results of a block of W are.
  static Tensor resultsOf(const OnChip& out, const Share& share, const WeightBlock& block) {
    return rowsOf(out, share).columns(block.rows.first - share.columns.first, block.rows.count);
  }

  mlir::Attribute accumulates(const WeightBlock& block) { return npu_.integer(block.depth.first == 0 ? 0 : 1); }

  void multiplyHalf(const Layer& layer, llvm::ArrayRef<Share> shares, const Input& x, const WeightBlock& block,
                    const OnChip& out) {
    const OnChip w = weights_.half(layer, tilesOf(shares), block);
    for (const Share& share : shares) {
      npu_.run("npu.matmul", layer.name, {rowsOf(x.half, share), w.in(share.tile), resultsOf(out, share, block)},
               {accumulates(block)});
    }
  }

  void multiplyCodes(const Layer& layer, llvm::ArrayRef<Share> shares, const Input& x, const WeightBlock& block,
                     const OnChip& out) {
    const int64_t groups = groupsIn(layer, block.depth);
    const WeightPlanes planes = weights_.planes(layer, tilesOf(shares), block);
    for (const Share& share : shares) {
      const OnChip partials =
          npu_.onChip("partials", uint64_t{1} << share.tile, DType::kF32, {groups, share.rows.count, block.rows.count});
      npu_.run("npu.matmul_groups", layer.name,
               {rowsOf(x.half, share), planes.codes.in(share.tile), partials.in(share.tile)},
               {npu_.integer(layer.weights.bits), npu_.integer(layer.weights.zero)});
      llvm::SmallVector<Tensor> operands = {partials.in(share.tile), planes.scales->in(share.tile)};
      if (planes.mins) operands.append({planes.mins->in(share.tile), rowsOf(*x.sums, share)});
      operands.push_back(resultsOf(out, share, block));
      npu_.run("npu.accumulate", layer.name, operands, {accumulates(block)});
    }
  }

  void addBias(const Layer& layer, llvm::ArrayRef<Share> shares, const OnChip& out) {
    const Range columns = shares.front().columns;
    const OnChip bias = npu_.onChip("bias", tilesOf(shares), DType::kF32, {columns.count});
    npu_.load(layer.bias->slice(columns.first, columns.count), bias, layer.name);
    for (const Share& share : shares) npu_.run("npu.bias", layer.name, {rowsOf(out, share), bias.in(share.tile)});
  }

  /// What stands behind the products, and the way out, in slices: what is added takes little room.
  void finish(llvm::ArrayRef<Layer> layers, const Share& share, llvm::ArrayRef<OnChip> results, const Input& x) {
    const int64_t all = share.columns.count;
    const int64_t step = layers.front().addend ? std::min(all, sliceColumns(share.rows.count)) : all;
    for (int64_t first = 0; first < all; first += step) {
      finishSlice(layers, share, {first, std::min(step, all - first)}, results, x);
    }
  }

  void finishSlice(llvm::ArrayRef<Layer> layers, const Share& share, Range slice, llvm::ArrayRef<OnChip> results,
                   const Input& x) {
    const Layer& layer = layers.front();
    const uint64_t tile = uint64_t{1} << share.tile;
    const llvm::SmallVector<int64_t> dims = {share.rows.count, slice.count};
    const Range columns = {share.columns.first + slice.first, slice.count};
    Tensor value = rowsOf(results.front(), share).columns(slice.first, slice.count);
    if (isGated()) {
      const OnChip product = npu_.onChip("gated", tile, layer.out.dtype, dims);
      npu_.run(group_.gate, "gate", {value, rowsOf(results.back(), share), product.in(share.tile)});
      value = product.in(share.tile);
    } else if (layer.addend) {
      const OnChip addend = npu_.onChip("residual", tile, DType::kF32, dims);
      npu_.load(part(*layer.addend, share.rows, columns), addend, "residual");
      npu_.run("npu.add", "residual", {value, addend.in(share.tile), value});
    } else if (layer.turn) {
      const OnChip turned = npu_.onChip("rope", tile, layer.out.dtype, dims);
      npu_.run("npu.rope", "rope",
               {value.heads(layer.turn->headDim), rowsOf(*x.positions, share), x.freqs->in(share.tile),
                turned.in(share.tile).heads(layer.turn->headDim)},
               {npu_.integer(layer.turn->pairing), npu_.integer(layer.turn->dims), npu_.number(layer.turn->magnitude)});
      value = turned.in(share.tile);
    }
    if (value.dtype != layer.out.dtype) {
      const OnChip half = npu_.onChip("y16", tile, DType::kF16, dims);
      npu_.run("npu.cast", layer.name, {value, half.in(share.tile)});
      value = half.in(share.tile);
    }
    npu_.copy(value, part(layer.out, share.rows, columns), layer.name);
  }

  NpuBody& npu_;
  WeightsOnChip weights_;
  const LinearGroup& group_;
  const LinearTiling& tiling_;
  int64_t m_;
  int64_t k_;
};

}  // namespace

void emitLinear(NpuBody& npu, const LinearGroup& group, const LinearTiling& tiling) {
  LinearTasks(npu, group, tiling).emit();
}

}  // namespace firn::target::npu
