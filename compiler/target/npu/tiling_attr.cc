#include "compiler/target/npu/tiling_attr.h"

#include "compiler/ir/graph.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

namespace firn::target::npu {
namespace {

constexpr llvm::StringLiteral kByRows = "by_rows";
constexpr llvm::StringLiteral kMultipliesCodes = "multiplies_codes";
constexpr llvm::StringLiteral kRows = "rows";
constexpr llvm::StringLiteral kColumns = "columns";
constexpr llvm::StringLiteral kPiece = "piece";
constexpr llvm::StringLiteral kDepth = "depth";
constexpr llvm::StringLiteral kTokens = "tokens";
constexpr llvm::StringLiteral kSharesMask = "shares_mask";

/// An integer of the dictionary; 0 where it is missing.
int64_t numberOf(mlir::DictionaryAttr tiling, llvm::StringRef key) {
  auto number = tiling.getAs<mlir::IntegerAttr>(key);
  return number ? number.getInt() : 0;
}

bool flagOf(mlir::DictionaryAttr tiling, llvm::StringRef key) {
  auto flag = tiling.getAs<mlir::BoolAttr>(key);
  return flag && flag.getValue();
}

}  // namespace

mlir::DictionaryAttr tilingAttr(mlir::MLIRContext* context, const LinearTiling& tiling) {
  mlir::Builder builder(context);
  const llvm::SmallVector<mlir::NamedAttribute> values = {
      builder.getNamedAttr(kByRows, builder.getBoolAttr(tiling.byRows)),
      builder.getNamedAttr(kMultipliesCodes, builder.getBoolAttr(tiling.isNative)),
      builder.getNamedAttr(kRows, builder.getI64IntegerAttr(tiling.mBlock)),
      builder.getNamedAttr(kColumns, builder.getI64IntegerAttr(tiling.nChunk)),
      builder.getNamedAttr(kPiece, builder.getI64IntegerAttr(tiling.nPiece)),
      builder.getNamedAttr(kDepth, builder.getI64IntegerAttr(tiling.kChunk))};
  return builder.getDictionaryAttr(values);
}

mlir::DictionaryAttr tilingAttr(mlir::MLIRContext* context, const AttentionTiling& tiling) {
  mlir::Builder builder(context);
  const llvm::SmallVector<mlir::NamedAttribute> values = {
      builder.getNamedAttr(kTokens, builder.getI64IntegerAttr(tiling.tokens)),
      builder.getNamedAttr(kRows, builder.getI64IntegerAttr(tiling.rows)),
      builder.getNamedAttr(kSharesMask, builder.getBoolAttr(tiling.sharesMask))};
  return builder.getDictionaryAttr(values);
}

mlir::FailureOr<LinearTiling> linearTilingOf(mlir::Operation* op) {
  auto attr = op->getAttrOfType<mlir::DictionaryAttr>(graph::kTilingAttr);
  LinearTiling tiling;
  if (attr) {
    tiling = {.byRows = flagOf(attr, kByRows),
              .isNative = flagOf(attr, kMultipliesCodes),
              .mBlock = numberOf(attr, kRows),
              .nChunk = numberOf(attr, kColumns),
              .nPiece = numberOf(attr, kPiece),
              .kChunk = numberOf(attr, kDepth)};
  }
  if (tiling.mBlock > 0 && tiling.nChunk > 0 && tiling.nPiece > 0 && tiling.kChunk > 0) return tiling;
  return op->emitOpError() << "npu.linear_c1: has no " << graph::kTilingAttr << ", or one without rows, columns, "
                           << "piece and depth above 0: run strategy before lower",
         mlir::failure();
}

mlir::FailureOr<AttentionTiling> attentionTilingOf(mlir::Operation* op) {
  auto attr = op->getAttrOfType<mlir::DictionaryAttr>(graph::kTilingAttr);
  AttentionTiling tiling;
  if (attr) tiling = {numberOf(attr, kTokens), numberOf(attr, kRows), flagOf(attr, kSharesMask)};
  if (tiling.tokens > 0 && tiling.rows > 0) return tiling;
  return op->emitOpError() << "npu.attention_c3: has no " << graph::kTilingAttr << ", or one without tokens and rows "
                           << "above 0: run strategy before lower",
         mlir::failure();
}

}  // namespace firn::target::npu
