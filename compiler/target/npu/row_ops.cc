#include "compiler/target/npu/row_ops.h"

#include <algorithm>

#include "compiler/target/npu/npu_body.h"
#include "kernels/quant/group_split.h"

namespace firn::target::npu {
namespace {

using Form = ValueState::Form;

constexpr uint64_t kSingle = 4;  // bytes

uint64_t bitOf(const Piece& piece) { return uint64_t{1} << piece.tile; }

/// A value that SHAVE takes as f32; a diagnostic when it is kept as f16.
mlir::FailureOr<Tensor> input32(BodyLowering& body, mlir::Operation* op, mlir::Value value) {
  auto in = scratch::input(body, op, value);
  if (mlir::succeeded(in) && in->dtype != DType::kF32) {
    return op->emitOpError() << "npu.value_c1: reads a value that is kept as f16", mlir::failure();
  }
  return in;
}

/// `tensor` [rows, columns] in CMX.
OnChip loaded(NpuBody& npu, const Tensor& tensor, const Piece& piece, llvm::StringRef name) {
  const OnChip buffer = npu.onChip(name, bitOf(piece), tensor.dtype, {piece.rows.count, piece.columns.count});
  npu.load(part(tensor, piece.rows, piece.columns), buffer, name);
  return buffer;
}

/// One task a piece: out = op(inputs), all f32 but for what `out` is.
struct Elementwise {
  llvm::StringRef op;
  llvm::StringRef name;
  llvm::SmallVector<Tensor, 2> inputs;
  Tensor out;
  llvm::SmallVector<mlir::Attribute, 1> attrs;
};

void emit(NpuBody& npu, const Elementwise& work) {
  const uint64_t bytes = kSingle * (work.inputs.size() + 1);
  for (const Piece& piece : npu.pieces(work.out.dims[0], work.out.dims[1], bytes, false)) {
    llvm::SmallVector<Tensor> operands;
    for (const Tensor& in : work.inputs) operands.push_back(loaded(npu, in, piece, work.name).in(piece.tile));
    const OnChip out = npu.onChip(work.name, bitOf(piece), work.out.dtype, {piece.rows.count, piece.columns.count});
    operands.push_back(out.in(piece.tile));
    npu.run(work.op, work.name, operands, work.attrs);
    npu.copy(out.in(piece.tile), part(work.out, piece.rows, piece.columns), work.name);
  }
}

/// A vector of the model as f32.
mlir::FailureOr<Tensor> vector(BodyLowering& body, mlir::Operation* op, mlir::FlatSymbolRefAttr symbol) {
  auto weight = body.weight(op, symbol);
  if (mlir::failed(weight)) return mlir::failure();
  return stored(body, *weight, "f32");
}

mlir::LogicalResult lowerElementwise(BodyLowering& body, mlir::Operation* op, llvm::StringRef task,
                                     llvm::ArrayRef<mlir::Attribute> attrs = {}) {
  Elementwise work = {task, op->getName().stripDialect(), {}, {}, {}};
  for (mlir::Value value : op->getOperands()) {
    auto in = input32(body, op, value);
    if (mlir::failed(in)) return mlir::failure();
    work.inputs.push_back(*in);
  }
  work.attrs.assign(attrs.begin(), attrs.end());
  work.out = scratch::output(body, op->getResult(0));
  NpuBody npu(body);
  emit(npu, work);
  scratch::define(body, op->getResult(0), work.out);
  return mlir::success();
}

}  // namespace

mlir::LogicalResult lowerEmbed(BodyLowering& body, mlir::Operation* op) {
  auto embed = llvm::cast<graph::EmbedOp>(op);
  auto weight = body.weight(op, embed.getWeightAttr());
  if (mlir::failed(weight)) return mlir::failure();
  const auto format = quant::groupFormat(weight->dtype);
  llvm::SmallVector<Tensor> table;  // the planes that a tied head reads too
  llvm::SmallVector<mlir::Attribute> attrs;
  NpuBody npu(body);
  if (format) {
    table = {body.whole(*weight, "codes"), body.whole(*weight, "scales")};
    if (format->hasMins) table.push_back(body.whole(*weight, "mins"));
    attrs = {npu.integer(format->bits), npu.integer(format->zero)};
  } else {
    table = {asBytes(body.whole(*weight, "raw"), *weight)};
    attrs = {npu.integer(static_cast<int64_t>(weight->dtype))};
  }
  const Tensor ids = body.find(embed.getIds())->lanes[0];
  const Tensor out = scratch::output(body, embed.getResult());
  for (const Piece& piece : npu.pieces(out.dims[0], out.dims[1], kSingle, true)) {
    const OnChip own = npu.onChip("ids", bitOf(piece), DType::kI32, {piece.rows.count});
    npu.load(ids.slice(piece.rows.first, piece.rows.count), own, "embed");
    const OnChip rows = npu.onChip("embed", bitOf(piece), DType::kF32, {piece.rows.count, out.dims[1]});
    llvm::SmallVector<Tensor> operands = {own.in(piece.tile)};
    llvm::append_range(operands, table);
    operands.push_back(rows.in(piece.tile));
    npu.run(format ? "npu.embed_groups" : "npu.embed", "embed", operands, attrs);
    npu.copy(rows.in(piece.tile), part(out, piece.rows, piece.columns), "embed");
  }
  scratch::define(body, embed.getResult(), out);
  return mlir::success();
}

mlir::LogicalResult lowerRmsNorm(BodyLowering& body, mlir::Operation* op) {
  auto norm = llvm::cast<graph::RmsNormOp>(op);
  auto in = input32(body, op, norm.getInput());
  auto weight = vector(body, op, norm.getWeightAttr());
  if (mlir::failed(in) || mlir::failed(weight)) return mlir::failure();
  const Tensor out = scratch::output(body, norm.getResult(), storedType(norm.getResult()));
  const std::string name = roleOf(norm.getWeight());
  const int64_t heads = norm.getHeads();
  const int64_t width = in->dims[1] / heads;
  NpuBody npu(body);
  const OnChip scale = npu.onChip("weight", npu.allTiles(), DType::kF32, {width});
  npu.load(*weight, scale, name);
  for (const Piece& piece : npu.pieces(in->dims[0], in->dims[1], 2 * kSingle, true)) {
    const OnChip rows = loaded(npu, *in, piece, name);
    const OnChip result = npu.onChip(name, bitOf(piece), out.dtype, {piece.rows.count, in->dims[1]});
    const llvm::SmallVector<int64_t> byHead = {piece.rows.count * heads, width};
    npu.run("npu.rms_norm", name,
            {reshaped(rows.in(piece.tile), byHead), scale.in(piece.tile), reshaped(result.in(piece.tile), byHead)},
            {npu.number(norm.getEps().convertToFloat())});
    npu.copy(result.in(piece.tile), part(out, piece.rows, piece.columns), name);
  }
  scratch::define(body, norm.getResult(), out);
  return mlir::success();
}

mlir::LogicalResult lowerRope(BodyLowering& body, mlir::Operation* op) {
  auto rope = llvm::cast<graph::RopeOp>(op);
  auto in = input32(body, op, rope.getInput());
  auto weight = body.weight(op, rope.getFreqsAttr());
  if (mlir::failed(in) || mlir::failed(weight)) return mlir::failure();
  const Tensor freqs = body.whole(*weight, "f32");
  const Tensor positions = body.find(rope.getPositions())->lanes[0];
  const Tensor out = scratch::output(body, rope.getResult(), storedType(rope.getResult()));
  const int64_t headDim = in->dims[1] / rope.getHeads();
  NpuBody npu(body);
  const OnChip own = npu.onChip("freqs", npu.allTiles(), DType::kF32, {freqs.dims[0]});
  npu.load(freqs, own, "rope");
  for (const Piece& piece : npu.pieces(in->dims[0], in->dims[1], 2 * kSingle, true)) {
    const OnChip at = npu.onChip("positions", bitOf(piece), DType::kI32, {piece.rows.count});
    npu.load(positions.slice(piece.rows.first, piece.rows.count), at, "rope");
    const OnChip rows = loaded(npu, *in, piece, "rope");
    const OnChip result = npu.onChip("rope", bitOf(piece), out.dtype, {piece.rows.count, in->dims[1]});
    npu.run("npu.rope", "rope",
            {rows.in(piece.tile).heads(headDim), at.in(piece.tile), own.in(piece.tile),
             result.in(piece.tile).heads(headDim)},
            {npu.integer(static_cast<int64_t>(rope.getPairing())), npu.integer(rope.getDims()),
             npu.number(rope.getMagnitude().convertToFloat())});
    npu.copy(result.in(piece.tile), part(out, piece.rows, piece.columns), "rope");
  }
  scratch::define(body, rope.getResult(), out);
  return mlir::success();
}

mlir::LogicalResult lowerAdd(BodyLowering& body, mlir::Operation* op) { return lowerElementwise(body, op, "npu.add"); }

mlir::LogicalResult lowerScale(BodyLowering& body, mlir::Operation* op) {
  const double factor = llvm::cast<graph::ScaleOp>(op).getFactor().convertToFloat();
  return lowerElementwise(body, op, "npu.scale", {body.number(factor)});
}

mlir::LogicalResult lowerSoftcap(BodyLowering& body, mlir::Operation* op) {
  const double cap = llvm::cast<graph::SoftcapOp>(op).getCap().convertToFloat();
  return lowerElementwise(body, op, "npu.softcap", {body.number(cap)});
}

std::string whyNoActivation(mlir::Operation* op) {
  if (auto gelu = llvm::dyn_cast<graph::GeluOp>(op); gelu && !gelu.getTanh())
    return "it has gelu in the tanh form only";
  const bool isGate = llvm::all_of(op->getResult(0).getUsers(), [&](mlir::Operation* user) {
    auto mul = llvm::dyn_cast<graph::MulOp>(user);
    return mul && mul.getLhs() != mul.getRhs();
  });
  return isGate ? "" : "it has no kernel for an activation that no product takes";
}

mlir::LogicalResult lowerMul(BodyLowering& body, mlir::Operation* op) {
  auto mul = llvm::cast<graph::MulOp>(op);
  for (const auto& [gateValue, other] : {std::pair{mul.getLhs(), mul.getRhs()}, {mul.getRhs(), mul.getLhs()}}) {
    ValueState* state = body.find(gateValue);
    if (state == nullptr || state->form != Form::kGate) continue;
    mlir::Operation* activation = state->source;
    auto gate = input32(body, op, activation->getOperand(0));
    auto up = input32(body, op, other);
    if (mlir::failed(gate) || mlir::failed(up)) return mlir::failure();
    const Tensor out = scratch::output(body, mul.getResult(), storedType(mul.getResult()));
    NpuBody npu(body);
    emit(npu, {llvm::isa<graph::SiluOp>(activation) ? "npu.silu_mul" : "npu.gelu_mul", "gate", {*gate, *up}, out, {}});
    scratch::define(body, mul.getResult(), out);
    return mlir::success();
  }
  return lowerElementwise(body, op, "npu.mul");
}

namespace {

/// Columns of logits that a tile looks at in one task.
int64_t listColumns(const machine::Machine& machine, int64_t rows) {
  return static_cast<int64_t>(machine.cmxBytes / kPieceShare / kSingle) / rows;
}

/// Rows whose lists are merged at once: as many as leave room for all of them on one tile.
int64_t mergedRows(NpuBody& npu, int64_t vocab, int64_t count) {
  constexpr int64_t kMost = 8;
  constexpr uint64_t kBytes = 8;  // of a value and an id
  const auto room = static_cast<int64_t>(npu.machine().cmxBytes / kPieceShare * 2 / kBytes);
  for (int64_t rows = kMost; rows > 1; rows /= 2) {
    const int64_t columns = std::max<int64_t>(1, listColumns(npu.machine(), rows));
    const int64_t lists = vocab / columns + npu.tiles();
    if (lists * rows * count <= room) return rows;
  }
  return 1;
}

}  // namespace

mlir::LogicalResult lowerTopK(BodyLowering& body, mlir::Operation* op) {
  auto topK = llvm::cast<graph::TopKOp>(op);
  auto logits = input32(body, op, topK.getInput());
  if (mlir::failed(logits)) return mlir::failure();
  const auto shape = llvm::cast<mlir::RankedTensorType>(topK.getValues().getType()).getShape();
  const Tensor values = denseTensor(blob::Space::kSymbol, "top_logits", DType::kF32, shape);
  const Tensor ids = denseTensor(blob::Space::kSymbol, "top_ids", DType::kI32, shape);
  const int64_t count = shape[1];
  NpuBody npu(body);
  const int64_t atOnce = mergedRows(npu, logits->dims[1], count);
  for (int64_t row = 0; row < shape[0]; row += atOnce) {
    const Range rows = {row, std::min(atOnce, shape[0] - row)};
    const int64_t merging = row / atOnce % npu.tiles();
    std::vector<Piece> pieces;
    const int64_t most = listColumns(npu.machine(), rows.count);
    const std::vector<Range> shares = splitEvenly(logits->dims[1], npu.tiles(), 1);
    for (int64_t tile = 0; tile < npu.tiles(); ++tile) {
      const Range& share = shares[static_cast<size_t>(tile)];
      for (int64_t at = 0; at < share.count; at += most) {
        pieces.push_back({tile, rows, {share.first + at, std::min(most, share.count - at)}});
      }
    }
    const auto lists = static_cast<int64_t>(pieces.size());
    const uint64_t merger = uint64_t{1} << merging;
    const OnChip allValues = npu.onChip("values", merger, DType::kF32, {lists, rows.count, count});
    const OnChip allIds = npu.onChip("lists", merger, DType::kI32, {lists, rows.count, count});
    for (size_t i = 0; i < pieces.size(); ++i) {
      const Piece& piece = pieces[i];
      const OnChip in = loaded(npu, *logits, piece, "top_k");
      const OnChip best = npu.onChip("best", bitOf(piece), DType::kF32, {rows.count, count});
      const OnChip bestIds = npu.onChip("best_ids", bitOf(piece), DType::kI32, {rows.count, count});
      npu.run("npu.top_k", "top_k", {in.in(piece.tile), best.in(piece.tile), bestIds.in(piece.tile)},
              {npu.integer(piece.columns.first)});
      npu.copy(best.in(piece.tile), allValues.in(merging).element(static_cast<int64_t>(i)), "top_k");
      npu.copy(bestIds.in(piece.tile), allIds.in(merging).element(static_cast<int64_t>(i)), "top_k");
    }
    const OnChip best = npu.onChip("merged", merger, DType::kF32, {rows.count, count});
    const OnChip bestIds = npu.onChip("merged_ids", merger, DType::kI32, {rows.count, count});
    npu.run("npu.top_k_merge", "top_k",
            {allValues.in(merging), allIds.in(merging), best.in(merging), bestIds.in(merging)});
    npu.copy(best.in(merging), values.slice(rows.first, rows.count), "top_k");
    npu.copy(bestIds.in(merging), ids.slice(rows.first, rows.count), "top_k");
  }
  return mlir::success();
}

}  // namespace firn::target::npu
