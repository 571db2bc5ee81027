// Verifiers of the tensor ops. Each check names the label of docs/ops.md that it enforces.
#include <cmath>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ir/graph_constraint.h"
#include "mlir/IR/BuiltinOps.h"

namespace firn::graph {

std::string shapeText(llvm::ArrayRef<int64_t> dims) {
  std::string text;
  for (int64_t dim : dims) {
    if (!text.empty()) text += 'x';
    text += mlir::ShapedType::isDynamic(dim) ? "?" : std::to_string(dim);
  }
  return text;
}

namespace {

using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::SymbolTableCollection;

int64_t rowsOf(mlir::Value matrix) { return llvm::cast<RankedTensorType>(matrix.getType()).getDimSize(0); }
int64_t columnsOf(mlir::Value matrix) { return llvm::cast<RankedTensorType>(matrix.getType()).getDimSize(1); }

LogicalResult expectShape(mlir::Operation* op, const llvm::Twine& label, mlir::Value value,
                          llvm::ArrayRef<int64_t> dims) {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  if (shapeFits(type, dims)) return mlir::success();
  return violates(op, label) << "found " << type << ", expected the shape " << shapeText(dims);
}

/// One weight of an op: its symbol, what its op calls it, the label and the dims it must have.
struct WeightRule {
  std::string label;
  mlir::FlatSymbolRefAttr symbol;
  llvm::SmallVector<int64_t, 2> dims;
  bool mayBeQuantized = false;
};

LogicalResult expectWeight(mlir::Operation* op, const WeightRule& rule, SymbolTableCollection& tables) {
  RankedTensorType type = weightType(op, rule.symbol, tables);
  if (!type) {
    return violates(op, rule.label) << "found no graph.weight or graph.param " << rule.symbol;
  }
  std::optional<DType> dtype = elementDType(type.getElementType());
  const DTypeInfo* info = dtype ? dtypeInfo(*dtype) : nullptr;
  const bool isWeight = info != nullptr && *dtype != DType::kI32 && *dtype != DType::kI8;
  if (isWeight && shapeFits(type, rule.dims) && (rule.mayBeQuantized || !info->isQuantized)) return mlir::success();
  return violates(op, rule.label) << rule.symbol << " is " << type << ", expected the shape " << shapeText(rule.dims)
                                  << " of " << (rule.mayBeQuantized ? "a weight type" : "f32, f16 or bf16");
}

bool isPositive(const llvm::APFloat& value) {
  const double number = value.convertToDouble();
  return std::isfinite(number) && number > 0;
}

/// y = x W^T + b, shared by linear and head. Labels: c1 input width, c2 bias, c3 result.
template <typename LinearLike>
LogicalResult verifyLinear(LinearLike op, const std::string& label, SymbolTableCollection& tables) {
  RankedTensorType weight = weightType(op, op.getWeightAttr(), tables);
  const int64_t n = columnsOf(op.getResult());
  const int64_t k = columnsOf(op.getInput());
  if (mlir::failed(expectWeight(op, {label + "_c1", op.getWeightAttr(), {n, k}, true}, tables))) return mlir::failure();
  if (op.getBiasAttr() &&
      mlir::failed(expectWeight(op, {label + "_c2", op.getBiasAttr(), {weight.getDimSize(0)}}, tables))) {
    return mlir::failure();
  }
  return expectShape(op, label + "_c3", op.getResult(), {rowsOf(op.getInput()), weight.getDimSize(0)});
}

/// rms_norm and layer_norm over n columns. Labels: c1 weight, c2 eps, c3 result.
template <typename Norm>
LogicalResult verifyNorm(Norm op, const std::string& label, int64_t n, SymbolTableCollection& tables) {
  if (mlir::failed(expectWeight(op, {label + "_c1", op.getWeightAttr(), {n}}, tables))) return mlir::failure();
  if (!isPositive(op.getEps())) {
    return violates(op, label + "_c2") << "found eps " << op.getEpsAttr() << ", expected a finite number above 0";
  }
  if (op.getResult().getType() != op.getInput().getType()) {
    return violates(op, label + "_c3") << "found a result of " << op.getResult().getType() << ", expected "
                                       << op.getInput().getType();
  }
  return mlir::success();
}

LogicalResult expectSameType(mlir::Operation* op, const llvm::Twine& label) {
  mlir::Type type = op->getResult(0).getType();
  for (mlir::Type operand : op->getOperandTypes()) {
    if (operand != type) return violates(op, label) << "found " << operand << " and " << type << ", expected one type";
  }
  return mlir::success();
}

/// The state that `symbol` names, or null.
StateOp findState(mlir::Operation* op, mlir::FlatSymbolRefAttr symbol, SymbolTableCollection& tables) {
  auto module = op->getParentOfType<mlir::ModuleOp>();
  return module ? llvm::dyn_cast_or_null<StateOp>(tables.lookupSymbolIn(module, symbol)) : StateOp();
}

/// True when a matrix of `columns` can hold `heads` heads of `headDim` columns.
bool headsFit(int64_t columns, int64_t heads, int64_t headDim) {
  if (heads < 1) return false;
  if (mlir::ShapedType::isDynamic(columns) || mlir::ShapedType::isDynamic(headDim)) return true;
  return columns % heads == 0 && columns / heads == headDim;
}

/// A cache for all rows goes with one row0, and caches for each of m rows with m of them.
bool cachesFitRows(mlir::Type cache, mlir::Value row0, int64_t rows) {
  auto cacheType = llvm::cast<RankedTensorType>(cache);
  auto row0Type = llvm::cast<RankedTensorType>(row0.getType());
  if (!isCacheOfRows(cache)) return row0Type.getRank() == 0;
  return row0Type.getRank() == 1 && dimsFit(row0Type.getDimSize(0), rows) && dimsFit(cacheType.getDimSize(0), rows);
}

}  // namespace

LogicalResult EmbedOp::verifySymbolUses(SymbolTableCollection& tables) {
  const WeightRule rule{"graph.embed_c1", getWeightAttr(), {mlir::ShapedType::kDynamic, columnsOf(getResult())}, true};
  if (mlir::failed(expectWeight(*this, rule, tables))) return mlir::failure();
  const int64_t rows = llvm::cast<RankedTensorType>(getIds().getType()).getDimSize(0);
  return expectShape(*this, "graph.embed_c2", getResult(), {rows, columnsOf(getResult())});
}

LogicalResult HeadOp::verifySymbolUses(SymbolTableCollection& tables) {
  return verifyLinear(*this, "graph.head", tables);
}

LogicalResult LinearOp::verifySymbolUses(SymbolTableCollection& tables) {
  return verifyLinear(*this, "graph.linear", tables);
}

LogicalResult RmsNormOp::verifySymbolUses(SymbolTableCollection& tables) {
  const int64_t columns = columnsOf(getInput());
  const int64_t heads = static_cast<int32_t>(getHeads());
  if (heads < 1 || (heads > 1 && (mlir::ShapedType::isDynamic(columns) || columns % heads != 0))) {
    return violates(*this, "graph.rms_norm_c4")
           << "found " << columns << " columns for " << heads << " heads, expected a whole number of columns per head";
  }
  return verifyNorm(*this, "graph.rms_norm", heads == 1 ? columns : columns / heads, tables);
}

LogicalResult LayerNormOp::verifySymbolUses(SymbolTableCollection& tables) {
  if (mlir::failed(verifyNorm(*this, "graph.layer_norm", columnsOf(getInput()), tables))) return mlir::failure();
  if (!getBiasAttr()) return mlir::success();
  return expectWeight(*this, {"graph.layer_norm_c4", getBiasAttr(), {columnsOf(getInput())}}, tables);
}

LogicalResult RopeOp::verifySymbolUses(SymbolTableCollection& tables) {
  const int64_t columns = columnsOf(getInput());
  const int64_t heads = getHeads();
  const int64_t dims = getDims();
  if (heads < 1 || mlir::ShapedType::isDynamic(columns) || columns % heads != 0) {
    return violates(*this, "graph.rope_c1")
           << "found " << columns << " columns for " << heads << " heads, expected a whole number of columns per head";
  }
  if (dims < 2 || dims % 2 != 0 || dims > columns / heads) {
    return violates(*this, "graph.rope_c2") << "found dims " << dims << ", expected an even number from 2 to "
                                            << columns / heads << ", the width of a head";
  }
  if (mlir::failed(expectWeight(*this, {"graph.rope_c3", getFreqsAttr(), {dims / 2}}, tables))) return mlir::failure();
  if (mlir::failed(expectShape(*this, "graph.rope_c4", getPositions(), {rowsOf(getInput())}))) return mlir::failure();
  if (getResult().getType() != getInput().getType()) {
    return violates(*this, "graph.rope_c5")
           << "found a result of " << getResult().getType() << ", expected " << getInput().getType();
  }
  if (!isPositive(getMagnitude())) {
    return violates(*this, "graph.rope_c6")
           << "found magnitude " << getMagnitudeAttr() << ", expected a finite number above 0";
  }
  return mlir::success();
}

LogicalResult StateReadOp::verifySymbolUses(SymbolTableCollection& tables) {
  StateOp state = findState(*this, getStateAttr(), tables);
  if (!state || state.getType() != getResult().getType()) {
    return violates(*this, "graph.state_read_c1") << "found a result of " << getResult().getType()
                                                  << ", expected the type of a graph.state " << getStateAttr();
  }
  return mlir::success();
}

LogicalResult StateWriteOp::verifySymbolUses(SymbolTableCollection& tables) {
  StateOp state = findState(*this, getStateAttr(), tables);
  if (!state) {
    return violates(*this, "graph.state_write_c1") << "found no graph.state " << getStateAttr();
  }
  auto type = llvm::cast<RankedTensorType>(state.getType());
  if (getHeads() != type.getDimSize(0) || !headsFit(columnsOf(getInput()), getHeads(), type.getDimSize(2))) {
    return violates(*this, "graph.state_write_c2") << "found " << getInput().getType() << " with " << getHeads()
                                                   << " heads, expected rows of the state " << type;
  }
  return mlir::success();
}

LogicalResult CacheUpdateOp::verify() {
  auto type = llvm::cast<RankedTensorType>(getCache().getType());
  if (getResult().getType() != type) {
    return violates(*this, "graph.cache_update_c1")
           << "found a result of " << getResult().getType() << ", expected " << type;
  }
  const llvm::ArrayRef<int64_t> dims = cacheDims(type);
  if (!dimsFit(getHeads(), dims[0]) || !headsFit(columnsOf(getInput()), getHeads(), dims[2])) {
    return violates(*this, "graph.cache_update_c2") << "found " << getInput().getType() << " with " << getHeads()
                                                    << " heads, expected rows of the cache " << type;
  }
  const int64_t rows = rowsOf(getInput());
  const bool known = !mlir::ShapedType::isDynamic(dims[1]) && !mlir::ShapedType::isDynamic(rows);
  if (known && !isCacheOfRows(type) && rows > dims[1]) {
    return violates(*this, "graph.cache_update_c3")
           << "found " << rows << " new rows, expected at most the " << dims[1] << " rows of the cache";
  }
  if (!cachesFitRows(type, getRow0(), rows)) {
    return violates(*this, "graph.cache_update_c4")
           << "found a cache of " << type << " and row0 of " << getRow0().getType()
           << ", expected one of each, or one of each for every one of the " << rows << " rows";
  }
  return mlir::success();
}

LogicalResult AttentionOp::verify() {
  const int64_t heads = getHeads();
  const int64_t kvHeads = getKvHeads();
  auto keys = llvm::cast<RankedTensorType>(getKeys().getType());
  if (heads < 1 || kvHeads < 1 || heads % kvHeads != 0) {
    return violates(*this, "graph.attention_c1")
           << "found " << heads << " heads and " << kvHeads << " kv_heads, expected heads to be a multiple of kv_heads";
  }
  const llvm::ArrayRef<int64_t> dims = cacheDims(keys);
  if (keys != getValues().getType() || !dimsFit(dims[0], kvHeads)) {
    return violates(*this, "graph.attention_c2")
           << "found keys of " << keys << " and values of " << getValues().getType() << ", expected one type with "
           << kvHeads << " heads";
  }
  if (!headsFit(columnsOf(getQuery()), heads, dims[2])) {
    return violates(*this, "graph.attention_c3") << "found a query of " << getQuery().getType() << ", expected "
                                                 << heads << " heads of " << dims[2] << " columns";
  }
  if (getResult().getType() != getQuery().getType()) {
    return violates(*this, "graph.attention_c4")
           << "found a result of " << getResult().getType() << ", expected " << getQuery().getType();
  }
  if ((getMask() == nullptr) != (getRow0() == nullptr)) {
    return violates(*this, "graph.attention_c5")
           << "found " << (getMask() ? "mask" : "row0") << " alone, expected both or neither";
  }
  if (getMask()) {
    auto mask = llvm::cast<RankedTensorType>(getMask().getType());
    const int64_t context = mask.getShape().back();
    const bool known = !mlir::ShapedType::isDynamic(context) && !mlir::ShapedType::isDynamic(dims[1]);
    if (known && context > dims[1]) {
      return violates(*this, "graph.attention_c6")
             << "found a mask of " << context << " rows, expected at most the " << dims[1] << " rows of the cache";
    }
    const int64_t rows = rowsOf(getQuery());
    const bool maskFits =
        isCacheOfRows(keys) ? mask.getRank() == 2 && dimsFit(mask.getDimSize(0), rows) : mask.getRank() == 1;
    if (!maskFits || !cachesFitRows(keys, getRow0(), rows)) {
      return violates(*this, "graph.attention_c9")
             << "found keys of " << keys << ", a mask of " << mask << " and row0 of " << getRow0().getType()
             << ", expected one of each, or one of each for every one of the " << rows << " rows";
    }
  }
  if (!isPositive(getScale())) {
    return violates(*this, "graph.attention_c7")
           << "found scale " << getScaleAttr() << ", expected a finite number above 0";
  }
  if (const auto window = static_cast<int32_t>(getWindow()); window < 0) {
    return violates(*this, "graph.attention_c8") << "found window " << window << ", expected 0 or more";
  }
  return mlir::success();
}

LogicalResult SiluOp::verify() { return expectSameType(*this, "graph.silu_c1"); }
LogicalResult GeluOp::verify() { return expectSameType(*this, "graph.gelu_c1"); }
LogicalResult MulOp::verify() { return expectSameType(*this, "graph.mul_c1"); }
LogicalResult AddOp::verify() { return expectSameType(*this, "graph.add_c1"); }

LogicalResult ScaleOp::verify() {
  if (!std::isfinite(getFactor().convertToDouble())) {
    return violates(*this, "graph.scale_c2") << "found factor " << getFactorAttr() << ", expected a finite number";
  }
  return expectSameType(*this, "graph.scale_c1");
}

LogicalResult SoftcapOp::verify() {
  if (!isPositive(getCap())) {
    return violates(*this, "graph.softcap_c2") << "found cap " << getCapAttr() << ", expected a finite number above 0";
  }
  return expectSameType(*this, "graph.softcap_c1");
}

LogicalResult TopKOp::verify() {
  const int64_t best = columnsOf(getValues());
  for (mlir::Value result : {getValues(), getIds()}) {
    if (mlir::failed(expectShape(*this, "graph.top_k_c1", result, {rowsOf(getInput()), best}))) return mlir::failure();
  }
  const int64_t columns = columnsOf(getInput());
  const bool hasColumns = !mlir::ShapedType::isDynamic(columns);
  if (best >= 1 && (!hasColumns || best <= columns)) return mlir::success();
  auto diagnostic = violates(*this, "graph.top_k_c2") << "found lists of ";
  if (mlir::ShapedType::isDynamic(best)) return diagnostic << "? tokens, expected a number of them";
  diagnostic << best << ", expected ";
  if (!hasColumns) return diagnostic << "1 or more";
  return diagnostic << "1 to " << columns << ", the columns of the input";
}

LogicalResult SliceOp::verify() {
  if (!dimsFit(rowsOf(getInput()), rowsOf(getResult()))) {
    return violates(*this, "graph.slice_c1")
           << "found " << rowsOf(getResult()) << " rows, expected " << rowsOf(getInput());
  }
  const int64_t start = static_cast<int32_t>(getStart());
  const int64_t width = columnsOf(getResult());
  const int64_t columns = columnsOf(getInput());
  if (start < 0 || width < 1 || width > columns || start > columns - width) {
    return violates(*this, "graph.slice_c2") << "found columns " << start << " to " << start << " + " << width
                                             << ", expected a range within the " << columns << " of the input";
  }
  return mlir::success();
}

LogicalResult ConcatOp::verify() {
  const int64_t left = columnsOf(getLhs());
  const int64_t right = columnsOf(getRhs());
  const bool known = !mlir::ShapedType::isDynamic(left) && !mlir::ShapedType::isDynamic(right);
  if (!dimsFit(rowsOf(getLhs()), rowsOf(getRhs())) || !dimsFit(rowsOf(getLhs()), rowsOf(getResult()))) {
    return violates(*this, "graph.concat_c1") << "found rows " << rowsOf(getLhs()) << " and " << rowsOf(getRhs())
                                              << ", expected the same number in both and in the result";
  }
  int64_t sum = 0;
  if (!known || llvm::AddOverflow(left, right, sum) != 0 || columnsOf(getResult()) != sum) {
    return violates(*this, "graph.concat_c2")
           << "found " << columnsOf(getResult()) << " columns, expected " << left << " + " << right;
  }
  return mlir::success();
}

LogicalResult SelectRowsOp::verify() {
  const int64_t rows = llvm::cast<RankedTensorType>(getRows().getType()).getDimSize(0);
  return expectShape(*this, "graph.select_rows_c1", getResult(), {rows, columnsOf(getInput())});
}

}  // namespace firn::graph
