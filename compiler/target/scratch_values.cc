#include "compiler/target/scratch_values.h"

namespace firn::target::scratch {
namespace {

using Form = ValueState::Form;

/// Where the residual stream crosses: the first matrix of each body.
constexpr llvm::StringLiteral kStream = "x0";

/// Index of `value` among the matrices of `values`.
unsigned matrixIndex(mlir::ValueRange values, mlir::Value value) {
  unsigned index = 0;
  for (mlir::Value other : values) {
    if (other == value) break;
    if (llvm::cast<mlir::RankedTensorType>(other.getType()).getRank() == 2) ++index;
  }
  return index;
}

/// Matrices pass from body to body in buffers x0, x1, ..., or as the function that returns them says.
std::string crossingName(mlir::Operation* op, unsigned index) {
  auto func = llvm::isa<graph::FuncOp>(op) ? llvm::cast<graph::FuncOp>(op) : op->getParentOfType<graph::FuncOp>();
  auto names = func->getAttrOfType<mlir::ArrayAttr>(graph::kCrossingsAttr);
  if (names && index < names.size()) return llvm::cast<mlir::StringAttr>(names[index]).getValue().str();
  return "x" + std::to_string(index);
}

/// The first call that takes `value`; null: none does.
graph::CallOp firstCall(mlir::Value value) {
  graph::CallOp first;
  for (mlir::Operation* user : value.getUsers()) {
    auto call = llvm::dyn_cast<graph::CallOp>(user);
    if (call && (!first || call->isBeforeInBlock(first))) first = call;
  }
  return first;
}

/// True when no op from `op` on, itself aside if it is elementwise, reads what the buffer of `place` holds.
bool isFree(BodyLowering& body, const Tensor& place, mlir::Operation* op) {
  for (mlir::BlockArgument arg : op->getBlock()->getArguments()) {
    ValueState* state = body.find(arg);
    if (state == nullptr || state->form != Form::kReplicated || state->lanes[0].base != place.base) continue;
    mlir::Operation* last = lastUser(arg);
    bool mayOverwrite = llvm::isa<graph::AddOp, graph::MulOp>(op);
    if (last != nullptr && !last->isBeforeInBlock(op) && (last != op || !mayOverwrite)) return false;
  }
  return true;
}

}  // namespace

mlir::FailureOr<Tensor> input(BodyLowering& body, mlir::Operation* op, mlir::Value value) {
  ValueState* state = body.find(value);
  if (state == nullptr || state->form != Form::kReplicated) {
    return op->emitOpError() << "reads a value that is not kept for this body", mlir::failure();
  }
  return state->lanes[0];
}

Tensor crossing(BodyLowering& body, llvm::StringRef name, DType dtype, mlir::Type type) {
  if (name == kStream && body.keepsStreamInHidden()) {
    return denseTensor(blob::Space::kSymbol, "hidden", dtype, llvm::cast<mlir::RankedTensorType>(type).getShape());
  }
  return body.groupBuffer(name, 0, dtype, llvm::cast<mlir::RankedTensorType>(type).getShape());
}

Tensor output(BodyLowering& body, mlir::Value result, DType dtype, mlir::Operation* at) {
  auto shape = llvm::cast<mlir::RankedTensorType>(result.getType()).getShape();
  mlir::Operation* op = result.getDefiningOp();
  auto entry = graph::entryOf(op->getParentOfType<graph::FuncOp>());
  if (graph::CallOp call = firstCall(result)) {
    return crossing(body, "x" + std::to_string(matrixIndex(call.getArgs(), result)), dtype, result.getType());
  }
  for (mlir::Operation* user : result.getUsers()) {
    auto ret = llvm::dyn_cast<graph::ReturnOp>(user);
    if (!ret) continue;
    // The best of them are read from the symbol as well as from anywhere else.
    const auto leavesInPlace = [](mlir::Operation* other) { return llvm::isa<graph::ReturnOp, graph::TopKOp>(other); };
    if (entry && llvm::all_of(result.getUsers(), leavesInPlace)) {
      return denseTensor(blob::Space::kSymbol, graph::leavesHidden(*entry) ? "hidden" : "logits", DType::kF32, shape);
    }
    if (entry) continue;
    Tensor place = crossing(body, crossingName(op, matrixIndex(ret.getValues(), result)), dtype, result.getType());
    if (isFree(body, place, at != nullptr ? at : op)) return place;
  }
  return body.laneBuffer(roleOf(op->getName().stripDialect()), 0, dtype, shape);
}

bool crossesAsHalf(mlir::Value value, mlir::Operation* ret) {
  const std::string name = crossingName(ret, matrixIndex(ret->getOperands(), value));
  return llvm::StringRef(name).starts_with(graph::kHalfCrossing);
}

void define(BodyLowering& body, mlir::Value result, const Tensor& place) {
  ValueState state;
  state.lanes = {place};
  body.set(result, state);
}

mlir::LogicalResult copyTo(BodyLowering& body, mlir::Value value, const Tensor& place, Copy copy) {
  ValueState* state = body.find(value);
  if (state == nullptr || state->form != Form::kReplicated) return mlir::failure();
  Tensor& now = state->lanes[0];
  if (now.space == place.space && now.base == place.base) return mlir::success();
  copy(body, now, place);
  now = place;
  return mlir::success();
}

mlir::LogicalResult keep(BodyLowering& body, mlir::Value value, unsigned index, Copy copy) {
  ValueState* state = body.find(value);
  if (state == nullptr || state->lanes.empty()) return mlir::failure();
  mlir::Operation* where = value.getParentBlock()->getParentOp();
  return copyTo(body, value, crossing(body, crossingName(where, index), state->lanes[0].dtype, value.getType()), copy);
}

mlir::LogicalResult store(BodyLowering& body, mlir::Value value, blob::SymbolKind symbol, Copy copy) {
  auto shape = llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
  return copyTo(body, value, denseTensor(blob::Space::kSymbol, task::symbolName(symbol).str(), DType::kF32, shape),
                copy);
}

}  // namespace firn::target::scratch
