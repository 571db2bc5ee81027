#include "compiler/target/cpu/activations.h"

#include "base/align.h"
#include "kernels/quant/panel.h"

namespace firn::target {
namespace {

using Form = ValueState::Form;

/// Every lane gathers all rows: cheaper than a barrier.
mlir::LogicalResult gather(BodyLowering& body, ValueState& state, mlir::Value value) {
  auto embed = llvm::cast<graph::EmbedOp>(state.source);
  auto weight = body.weight(embed, embed.getWeightAttr());
  if (mlir::failed(weight)) return mlir::failure();
  Tensor table = body.whole(*weight, "panels");
  ValueState* ids = body.find(embed.getIds());
  Tensor idsIn = ids != nullptr ? ids->lanes[0] : denseTensor(blob::Space::kSymbol, "ids", DType::kI32, {body.rows()});
  state.form = Form::kReplicated;
  state.source = nullptr;
  for (int lane = 0; lane < body.lanes(); ++lane) {
    state.lanes.push_back(body.groupBuffer("x." + std::to_string(lane), lane, DType::kF32,
                                           llvm::cast<mlir::RankedTensorType>(value.getType()).getShape()));
    body.run(lane, "cpu.embed", "embed", {idsIn, table, state.lanes.back()});
  }
  return mlir::success();
}

/// Every lane adds up the partial sums for itself, into memory of its own.
void addUp(BodyLowering& body, ValueState& state) {
  body.barrierAfter(state.writtenSegment);
  const int64_t parts = state.partials.dims[0];
  for (int lane = 0; lane < body.lanes(); ++lane) {
    Tensor first = state.partials.element(0);
    state.lanes.push_back(body.laneBuffer("sum", lane, DType::kF32, first.dims));
    body.run(lane, "cpu.copy", "sum", {first, state.lanes.back()});
    if (parts > 1) body.run(lane, "cpu.add_partials", "sum", {state.lanes.back(), state.partials.slice(1, parts - 1)});
  }
  state.form = Form::kReplicated;
}

}  // namespace

ValueState* replicate(BodyLowering& body, mlir::Operation* user, mlir::Value value) {
  ValueState* state = body.find(value);
  if (state != nullptr && state->form == Form::kReplicated) return state;
  if (state != nullptr && state->form == Form::kTokens) {
    return mlir::succeeded(gather(body, *state, value)) ? state : nullptr;
  }
  if (state != nullptr && state->form == Form::kPartial) {
    addUp(body, *state);
    return state;
  }
  if (state == nullptr || state->form != Form::kSum) {
    user->emitOpError() << "reads a value that every lane would need, but that is spread over the lanes";
    return nullptr;
  }
  body.barrierAfter(state->writtenSegment);
  for (int lane = 0; lane < body.lanes(); ++lane) {
    body.run(lane, "cpu.add_partials", "residual", {state->lanes[static_cast<size_t>(lane)], state->partials});
  }
  state->form = Form::kReplicated;
  return state;
}

std::array<Tensor, 3> quantizedIn(BodyLowering& body, mlir::Value value, int lane, int64_t planes) {
  auto& lanes = body.quantized[{value.getAsOpaquePointer(), planes}];
  lanes.resize(static_cast<size_t>(body.lanes()));
  auto& made = lanes[static_cast<size_t>(lane)];
  if (made.empty()) {
    const Tensor& in = body.find(value)->lanes[static_cast<size_t>(lane)];
    int64_t columns = roundUp(in.dims[1], quant::kGroup);
    int64_t groups = columns / quant::kGroup;
    made = {body.laneBuffer("codes", lane, DType::kI8, {planes, in.dims[0], columns}),
            body.laneBuffer("scales", lane, DType::kF32, {in.dims[0], groups}),
            body.laneBuffer("sums", lane, DType::kI32, {in.dims[0], groups})};
    body.run(lane, "cpu.quantize", "quantize", {in, made[0], made[1], made[2]});
  }
  return {made[0], made[1], made[2]};
}

}  // namespace firn::target
