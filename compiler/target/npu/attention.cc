// The attention of the query heads that share a KV head walks the cache in blocks of rows with a running maximum, sum
// and accumulator (Dao et al., FlashAttention, arXiv 2205.14135; Milakov and Gimelshein, arXiv 1805.02867), so what it
// needs of CMX does not grow with the context.
#include "compiler/target/npu/attention.h"

#include <algorithm>
#include <tuple>

#include "compiler/target/npu/npu_body.h"
#include "compiler/target/npu/tiling_attr.h"

namespace firn::target::npu {
namespace {

/// What the tasks of one attention are made of, all of it in DDR.
struct Attention {
  Tensor query;   ///< f16 [m, heads, d]
  Tensor keys;    ///< f16 [kvHeads, T, d]
  Tensor values;  ///< the same
  Tensor mask;    ///< u8 [c]
  Tensor row0;    ///< i32 [1]
  Tensor out;     ///< f16 [m, heads, d]
  int64_t context = 0;
  int64_t group = 1;  ///< query heads of a KV head
  double scale = 1;
  int64_t window = 0;
  AttentionTiling tiling;
};

/// Tokens of one KV head that a tile works on.
struct Unit {
  int64_t tile = 0;
  int64_t head = 0;
  Range tokens;
};

/// What a unit keeps from block to block.
struct Running {
  OnChip query;
  OnChip max;
  OnChip sum;
  OnChip factor;
  OnChip accumulator;
};

class AttentionTasks {
 public:
  AttentionTasks(NpuBody& npu, const Attention& attention)
      : npu_(npu), attention_(attention), d_(attention.query.dims[2]), m_(attention.query.dims[0]) {}

  void emit() {
    loadShared();
    for (const Unit& unit : units()) emitUnit(unit);
  }

 private:
  /// All of the work, the longest first, each where the least has been given so far.
  std::vector<Unit> units() const {
    const int64_t tokens = attention_.tiling.tokens;
    std::vector<Unit> units;
    for (int64_t head = 0; head < attention_.keys.dims[0]; ++head) {
      for (int64_t first = 0; first < m_; first += tokens) {
        units.push_back({.head = head, .tokens = {first, std::min(tokens, m_ - first)}});
      }
    }
    const auto scores = [&](const Unit& unit) { return unit.tokens.count * visibleEnd(unit); };
    std::ranges::sort(units, [&](const Unit& a, const Unit& b) {
      return std::tuple(-scores(a), a.head, a.tokens.first) < std::tuple(-scores(b), b.head, b.tokens.first);
    });
    std::vector<int64_t> given(static_cast<size_t>(npu_.tiles()));
    for (Unit& unit : units) {
      const auto least = std::ranges::min_element(given);
      unit.tile = least - given.begin();
      *least += scores(unit);
    }
    return units;
  }

  OnChip loadMask(uint64_t tiles, Range rows) {
    const OnChip mask = npu_.onChip("mask", tiles, DType::kU8, {rows.count});
    npu_.load(attention_.mask.slice(rows.first, rows.count), mask, "mask");
    return mask;
  }

  void loadShared() {
    if (attention_.tiling.sharesMask) mask_ = loadMask(npu_.allTiles(), {0, attention_.context});
    row0_ = npu_.onChip("row0", npu_.allTiles(), DType::kI32, {1});
    npu_.load(attention_.row0, row0_, "row0");
  }

  /// Cache rows from here on no token of the unit sees, wherever the chunk begins: all of it lies inside the context.
  int64_t visibleEnd(const Unit& unit) const { return attention_.context - m_ + unit.tokens.first + unit.tokens.count; }

  int64_t rowsOf(const Unit& unit) const { return unit.tokens.count * attention_.group; }

  /// Tokens of a unit and the query heads of its KV head, [tokens, group, d].
  Tensor heads(const Tensor& matrix, const Unit& unit) const {
    Tensor own = matrix.slice(unit.tokens.first, unit.tokens.count);
    own.offset += static_cast<uint64_t>(unit.head * attention_.group * d_) * 2;
    own.dims = {unit.tokens.count, attention_.group, d_};
    return own;
  }

  Running begin(const Unit& unit) {
    const uint64_t tile = uint64_t{1} << unit.tile;
    const int64_t rows = rowsOf(unit);
    Running running = {npu_.onChip("q", tile, DType::kF16, {rows, d_}), npu_.onChip("max", tile, DType::kF32, {rows}),
                       npu_.onChip("sum", tile, DType::kF32, {rows}), npu_.onChip("factor", tile, DType::kF32, {rows}),
                       npu_.onChip("acc", tile, DType::kF32, {rows, d_})};
    npu_.copy(heads(attention_.query, unit),
              reshaped(running.query.in(unit.tile), {unit.tokens.count, attention_.group, d_}), "q");
    return running;
  }

  /// Cache rows of a block, as many in each of the unit: a short one takes as many starts.
  int64_t blockRows(const Unit& unit) const {
    const int64_t blocks = (visibleEnd(unit) + attention_.tiling.rows - 1) / attention_.tiling.rows;
    const int64_t even = (visibleEnd(unit) + blocks - 1) / blocks;
    return std::min(attention_.tiling.rows, (even + kBlockUnit - 1) / kBlockUnit * kBlockUnit);
  }

  void emitUnit(const Unit& unit) {
    const Running running = begin(unit);
    const uint64_t tile = uint64_t{1} << unit.tile;
    const int64_t block = blockRows(unit);
    for (int64_t first = 0; first < visibleEnd(unit); first += block) {
      const Range rows = {first, std::min(block, visibleEnd(unit) - first)};
      const OnChip keys = npu_.onChip("k", tile, DType::kF16, {rows.count, d_});
      const OnChip values = npu_.onChip("v", tile, DType::kF16, {rows.count, d_});
      npu_.load(attention_.keys.element(unit.head).slice(rows.first, rows.count), keys, "k");
      npu_.load(attention_.values.element(unit.head).slice(rows.first, rows.count), values, "v");
      emitBlock(unit, rows, {keys, values}, running);
    }
    finish(unit, running);
  }

  void emitBlock(const Unit& unit, Range rows, const std::pair<OnChip, OnChip>& cache, const Running& running) {
    const int64_t tile = unit.tile;
    const uint64_t bit = uint64_t{1} << tile;
    const OnChip scores = npu_.onChip("scores", bit, DType::kF32, {rowsOf(unit), rows.count});
    const OnChip probs = npu_.onChip("probs", bit, DType::kF16, {rowsOf(unit), rows.count});
    const Tensor mask =
        attention_.tiling.sharesMask ? mask_.in(tile).slice(rows.first, rows.count) : loadMask(bit, rows).in(tile);
    const Tensor keys = cache.first.in(tile);
    const Tensor values = cache.second.in(tile);
    npu_.run("npu.matmul", "qk", {running.query.in(tile), keys, scores.in(tile)}, {npu_.integer(0)});
    npu_.run("npu.clean", "v", {values, mask, row0_.in(tile)},
             {npu_.integer(rows.first), npu_.integer(unit.tokens.first), npu_.integer(attention_.window)});
    const bool isFirst = rows.first == 0;
    npu_.run("npu.softmax", "softmax",
             {scores.in(tile), mask, row0_.in(tile), running.max.in(tile), running.sum.in(tile),
              running.factor.in(tile), probs.in(tile)},
             {npu_.number(attention_.scale), npu_.integer(rows.first), npu_.integer(unit.tokens.first),
              npu_.integer(attention_.group), npu_.integer(attention_.window), npu_.integer(isFirst ? 1 : 0)});
    if (!isFirst) npu_.run("npu.rescale", "softmax", {running.accumulator.in(tile), running.factor.in(tile)});
    Tensor transposed = values;
    transposed.dims = {d_, rows.count};
    transposed.strides = {1, d_};
    npu_.run("npu.matmul", "pv", {probs.in(tile), transposed, running.accumulator.in(tile)},
             {npu_.integer(isFirst ? 0 : 1)});
  }

  void finish(const Unit& unit, const Running& running) {
    const int64_t tile = unit.tile;
    const OnChip out = npu_.onChip("att", uint64_t{1} << tile, DType::kF16, {rowsOf(unit), d_});
    npu_.run("npu.finish", "attention", {running.accumulator.in(tile), running.sum.in(tile), out.in(tile)});
    npu_.copy(reshaped(out.in(tile), {unit.tokens.count, attention_.group, d_}), heads(attention_.out, unit),
              "attention");
  }

  NpuBody& npu_;
  const Attention& attention_;
  int64_t d_;
  int64_t m_;
  OnChip mask_;  ///< whole, where tiles share it
  OnChip row0_;
};

}  // namespace

mlir::LogicalResult lowerAttention(BodyLowering& body, mlir::Operation* op) {
  auto attention = llvm::cast<graph::AttentionOp>(op);
  auto query = scratch::input(body, op, attention.getQuery());
  ValueState* keys = body.find(attention.getKeys());
  ValueState* values = body.find(attention.getValues());
  if (mlir::failed(query) || keys == nullptr || values == nullptr) return mlir::failure();
  auto maskType = llvm::cast<mlir::RankedTensorType>(attention.getMask().getType());
  if (maskType.isDynamicDim(0)) return op->emitOpError() << "npu.attention_c1: the context is not known: run legalize";
  if (query->dtype != DType::kF16) return op->emitOpError() << "npu.attention_c2: the query is not stored as f16";
  auto tiling = attentionTilingOf(op);
  if (mlir::failed(tiling)) return mlir::failure();
  const int64_t headDim = query->dims[1] / attention.getHeads();
  const Tensor out = scratch::output(body, attention.getResult(), DType::kF16);
  const Attention tasks = {.query = query->heads(headDim),
                           .keys = keys->cache,
                           .values = values->cache,
                           .mask = body.find(attention.getMask())->lanes[0],
                           .row0 = denseTensor(blob::Space::kSymbol, "row0", DType::kI32, {1}),
                           .out = out.heads(headDim),
                           .context = maskType.getDimSize(0),
                           .group = attention.getHeads() / attention.getKvHeads(),
                           .scale = attention.getScale().convertToFloat(),
                           .window = attention.getWindow(),
                           .tiling = *tiling};
  NpuBody npu(body);
  AttentionTasks(npu, tasks).emit();
  scratch::define(body, attention.getResult(), out);
  return mlir::success();
}

mlir::LogicalResult lowerCacheUpdate(BodyLowering& body, mlir::Operation* op) {
  auto update = llvm::cast<graph::CacheUpdateOp>(op);
  auto in = scratch::input(body, op, update.getInput());
  ValueState* cache = body.find(update.getCache());
  if (mlir::failed(in) || cache == nullptr) return mlir::failure();
  if (cache->cache.dtype != DType::kF16) {
    return op->emitOpError() << "npu.cache_update_c1: the KV type is " << task::dtypeName(cache->cache.dtype)
                             << "; the npu keeps f16: compile with --kv-type f16";
  }
  NpuBody npu(body);
  const int64_t columns = in->dims[1];
  const int64_t headDim = columns / update.getHeads();
  const DType type = in->dtype;
  for (const Piece& piece : npu.pieces(in->dims[0], columns, dtypeInfo(type)->blockBytes, true)) {
    const uint64_t tile = uint64_t{1} << piece.tile;
    const OnChip rows = npu.onChip("rows", tile, type, {piece.rows.count, columns});
    npu.load(part(*in, piece.rows, piece.columns), rows, "kv_write");
    OnChip half = rows;
    if (type != DType::kF16) {
      half = npu.onChip("half", tile, DType::kF16, {piece.rows.count, columns});
      npu.run("npu.cast", "kv_write", {rows.in(piece.tile), half.in(piece.tile)});
    }
    npu.run("npu.kv_write", "kv_write",
            {reshaped(half.in(piece.tile), {piece.rows.count, columns / headDim, headDim}), cache->cache},
            {npu.integer(piece.rows.first)});
  }
  body.set(update.getResult(), ValueState(*cache));
  return mlir::success();
}

}  // namespace firn::target::npu
