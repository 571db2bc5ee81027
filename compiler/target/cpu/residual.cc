#include "compiler/target/cpu/residual.h"

#include <utility>

#include "compiler/target/cpu/activations.h"
#include "compiler/target/cpu/lane_split.h"

namespace firn::target {
namespace {

using Form = ValueState::Form;

/// Residual + what every lane has a copy of, at once and in place.
mlir::LogicalResult addCopies(BodyLowering& body, graph::AddOp add) {
  ValueState* base = replicate(body, add, add.getLhs());
  ValueState* other = body.find(add.getRhs());
  if (base == nullptr) return mlir::failure();
  if (base->lanes[0].space != blob::Space::kScratch) return add.emitOpError() << "adds to an input of the entry";
  for (int lane = 0; lane < body.lanes(); ++lane) {
    auto index = static_cast<size_t>(lane);
    body.run(lane, "cpu.add_partials", "residual", {base->lanes[index], other->lanes[index].asPartial()});
  }
  body.set(add.getResult(), ValueState(*base));
  return mlir::success();
}

}  // namespace

mlir::LogicalResult lowerCpuAdd(BodyLowering& body, mlir::Operation* op) {
  auto add = llvm::cast<graph::AddOp>(op);
  mlir::Value residual = add.getLhs();
  mlir::Value sum = add.getRhs();
  auto isPartial = [&](mlir::Value value) {
    ValueState* state = body.find(value);
    return state != nullptr && state->form == Form::kPartial;
  };
  if (isPartial(residual)) std::swap(residual, sum);
  ValueState* added = body.find(sum);
  const bool isCopy = added != nullptr && added->form == Form::kReplicated;
  if ((!isPartial(sum) && !isCopy) || isPartial(residual)) {
    return op->emitOpError() << "adds what is no residual stream and the output of a linear over split columns, or its "
                                "norm";
  }
  // Every lane adds into its own copy, so the old value must be dead by then.
  if (lastUser(residual) != op || residual == sum) {
    return op->emitOpError() << "adds to a residual stream that is still read later";
  }
  if (isCopy) return addCopies(body, add);
  ValueState* base = replicate(body, op, residual);
  if (base == nullptr) return mlir::failure();
  if (base->lanes[0].space != blob::Space::kScratch) return op->emitOpError() << "adds to an input of the entry";
  ValueState state = *body.find(sum);
  state.form = Form::kSum;
  state.lanes = base->lanes;
  body.set(add.getResult(), state);
  return mlir::success();
}

mlir::LogicalResult loadCpuHidden(BodyLowering& body, mlir::Value value) {
  ValueState* state = body.find(value);
  for (int lane = 0; lane < body.lanes(); ++lane) {
    Tensor& x = state->lanes[static_cast<size_t>(lane)];
    const Tensor own = body.groupBuffer("x." + std::to_string(lane), lane, DType::kF32, x.dims);
    body.run(lane, "cpu.copy", "hidden", {x, own});
    x = own;
  }
  return mlir::success();
}

mlir::LogicalResult keepCpuResult(BodyLowering& body, mlir::Value value, unsigned) {
  ValueState* state = body.find(value);
  bool passes = state != nullptr && (state->form == Form::kSum || state->form == Form::kReplicated);
  if (!passes) return mlir::emitError(value.getLoc()) << "a body can only return the residual stream";
  return mlir::success();
}

mlir::LogicalResult storeCpuOutput(BodyLowering& body, mlir::Value value, blob::SymbolKind symbol) {
  ValueState* state = body.find(value);
  if (state != nullptr && state->form == Form::kTokens) state = replicate(body, value.getDefiningOp(), value);
  if (state == nullptr || (state->form != Form::kSum && state->form != Form::kReplicated)) {
    return mlir::emitError(value.getLoc()) << "an entry can only return the residual stream or logits";
  }
  std::string name = task::symbolName(symbol).str();
  if (state->lanes[0].space == blob::Space::kSymbol && state->lanes[0].base == name) return mlir::success();
  auto shape = llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
  Tensor out = denseTensor(blob::Space::kSymbol, name, DType::kF32, shape);
  bool isSum = state->form == Form::kSum;
  if (isSum) body.barrierAfter(state->writtenSegment);
  constexpr int64_t kColumnUnit = 16;
  std::vector<Range> ranges = splitColumns(shape[1], kColumnUnit, body.lanes());
  for (int lane = 0; lane < body.lanes(); ++lane) {
    auto [first, count] = ranges[static_cast<size_t>(lane)];
    if (count == 0) continue;
    Tensor x = state->lanes[static_cast<size_t>(lane)].columns(first, count);
    if (isSum) body.run(lane, "cpu.add_partials", "residual", {x, state->partials.columns(first, count)});
    body.run(lane, "cpu.copy", "hidden", {x, out.columns(first, count)});
  }
  return mlir::success();
}

}  // namespace firn::target
