#include "compiler/target/npu/npu_body.h"

#include <algorithm>

namespace firn::target::npu {

Tensor OnChip::in(int64_t tile) const {
  return denseTensor(blob::Space::kCmx, base + ":" + std::to_string(tile), dtype, dims);
}

OnChip NpuBody::onChip(llvm::StringRef hint, uint64_t tiles, DType dtype, llvm::ArrayRef<int64_t> dims) {
  OnChip buffer;
  buffer.base = body_.cmxBuffer(hint, tiles, denseBytes(dtype, dims));
  buffer.tiles = tiles;
  buffer.dtype = dtype;
  buffer.dims.assign(dims.begin(), dims.end());
  return buffer;
}

void NpuBody::load(const Tensor& from, const OnChip& to, llvm::StringRef name) {
  const auto first = static_cast<int64_t>(__builtin_ctzll(to.tiles));
  const bool isOne = (to.tiles & (to.tiles - 1)) == 0;
  body_.run(0, "npu.copy", name, {from, to.in(first)}, {integer(isOne ? 0 : static_cast<int64_t>(to.tiles))});
}

void NpuBody::copy(const Tensor& from, const Tensor& to, llvm::StringRef name) {
  body_.run(0, "npu.copy", name, {from, to}, {integer(0)});
}

void NpuBody::multicast(const Tensor& from, const OnChip& to, Range rows, llvm::StringRef name) {
  const auto first = static_cast<int64_t>(__builtin_ctzll(to.tiles));
  body_.run(0, "npu.copy", name, {from, to.in(first).slice(rows.first, rows.count)},
            {integer(static_cast<int64_t>(to.tiles))});
}

Tensor stored(BodyLowering& body, const WeightInfo& weight, llvm::StringRef form) {
  return weight.isFormal ? body.streamed(kSharedLane, weight, form, {0, weight.rows}, {0, weight.columns})
                         : body.whole(weight, form);
}

Tensor asBytes(const Tensor& weights, const WeightInfo& weight) {
  Tensor bytes = weights;
  const auto rowBytes = dtypeBytes(weight.dtype, static_cast<uint64_t>(weight.columns)).value_or(0);
  bytes.dtype = DType::kU8;
  bytes.dims = {weight.rows, static_cast<int64_t>(rowBytes)};
  bytes.strides = {static_cast<int64_t>(rowBytes), 1};
  return bytes;
}

std::vector<Range> splitEvenly(int64_t count, int64_t parts, int64_t unit) {
  const int64_t units = (count + unit - 1) / unit;
  std::vector<Range> ranges;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t first = std::min(count, units * part / parts * unit);
    const int64_t end = std::min(count, units * (part + 1) / parts * unit);
    ranges.push_back({first, end - first});
  }
  return ranges;
}

std::vector<Piece> NpuBody::pieces(int64_t rows, int64_t columns, uint64_t elementBytes, bool wholeRows) {
  constexpr int64_t kColumnUnit = 64;
  const auto most = static_cast<int64_t>(std::max<uint64_t>(1, machine().cmxBytes / kPieceShare / elementBytes));
  const bool byRows = wholeRows || rows >= tiles();
  const int64_t beside = byRows ? 1 : rows;  // that lie one below the other in a piece
  const int64_t fit = std::max(kColumnUnit, most / beside / kColumnUnit * kColumnUnit);
  const int64_t pieceColumns = wholeRows ? columns : std::min(columns, fit);
  const int64_t pieceRows = byRows ? std::max<int64_t>(1, most / pieceColumns) : rows;
  std::vector<Piece> all;
  const std::vector<Range> shares = splitEvenly(byRows ? rows : columns, tiles(), byRows ? 1 : kColumnUnit);
  for (int64_t tile = 0; tile < tiles(); ++tile) {
    const Range share = shares[static_cast<size_t>(tile)];
    const Range ownRows = byRows ? share : Range{0, rows};
    const Range ownColumns = byRows ? Range{0, columns} : share;
    for (int64_t row = 0; row < ownRows.count; row += pieceRows) {
      for (int64_t column = 0; column < ownColumns.count; column += pieceColumns) {
        all.push_back({tile,
                       {ownRows.first + row, std::min(pieceRows, ownRows.count - row)},
                       {ownColumns.first + column, std::min(pieceColumns, ownColumns.count - column)}});
      }
    }
  }
  return all;
}

Tensor part(const Tensor& matrix, Range rows, Range columns) {
  return matrix.slice(rows.first, rows.count).columns(columns.first, columns.count);
}

Tensor reshaped(const Tensor& tensor, llvm::ArrayRef<int64_t> dims) {
  Tensor other = denseTensor(tensor.space, tensor.base, tensor.dtype, dims);
  other.offset = tensor.offset;
  return other;
}

bool canWriteHalf(mlir::Operation* op) {
  if (auto mul = llvm::dyn_cast<graph::MulOp>(op)) {
    return llvm::any_of(mul->getOperands(), [](mlir::Value operand) {
      return llvm::isa_and_nonnull<graph::SiluOp, graph::GeluOp>(operand.getDefiningOp());
    });
  }
  return llvm::isa<graph::LinearOp, graph::HeadOp, graph::RmsNormOp, graph::RopeOp, graph::AttentionOp>(op);
}

DType storedType(mlir::Value value) {
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {  // the function that returns it has chosen
    auto func = llvm::cast<graph::FuncOp>(argument.getOwner()->getParentOp());
    const bool isHalf = func.argumentName(argument.getArgNumber()).starts_with(graph::kHalfCrossing);
    return isHalf ? DType::kF16 : DType::kF32;
  }
  mlir::Operation* maker = value.getDefiningOp();
  if (llvm::isa<graph::AttentionOp>(maker)) return DType::kF16;
  if (!canWriteHalf(maker)) return DType::kF32;
  const auto takesHalf = [&](mlir::Operation* user) {
    if (llvm::isa<graph::ReturnOp>(user)) return scratch::crossesAsHalf(value, user);
    return llvm::isa<graph::LinearOp, graph::HeadOp, graph::AttentionOp, graph::CacheUpdateOp>(user);
  };
  return llvm::all_of(value.getUsers(), takesHalf) ? DType::kF16 : DType::kF32;
}

}  // namespace firn::target::npu
