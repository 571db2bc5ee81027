#include "compiler/target/cpu/cpu_target.h"

#include <algorithm>

#include "compiler/target/cpu/activations.h"
#include "compiler/target/cpu/attention.h"
#include "compiler/target/cpu/linear.h"
#include "compiler/target/cpu/residual.h"
#include "compiler/target/cpu/top_k.h"
#include "compiler/target/top_k_rule.h"

namespace firn::target {
namespace {

using Form = ValueState::Form;

mlir::LogicalResult lowerEmbed(BodyLowering& body, mlir::Operation* op) {
  ValueState state;
  state.form = Form::kTokens;
  state.source = op;
  body.set(op->getResult(0), state);
  return mlir::success();
}

/// Heads of which each is normed by itself, by the lane that has it.
mlir::LogicalResult lowerHeadNorm(BodyLowering& body, graph::RmsNormOp norm) {
  ValueState* in = body.find(norm.getInput());
  auto weight = body.weight(norm, norm.getWeightAttr());
  if (mlir::failed(weight)) return mlir::failure();
  if (!norm.getInput().hasOneUse()) {
    return norm.emitOpError() << "norms heads in place, so it must be their only reader";
  }
  Tensor scale = body.streamed(kSharedLane, *weight, "f32", {0, 1}, {0, weight->columns});
  const int64_t width = weight->columns;
  for (int lane = 0; lane < body.lanes(); ++lane) {
    auto index = static_cast<size_t>(lane);
    if (in->ranges[index].count % width != 0) return norm.emitOpError() << "norms heads that are split among lanes";
    for (int64_t first = 0; first < in->ranges[index].count; first += width) {
      Tensor head = in->lanes[index].columns(first, width);
      body.run(lane, "cpu.rms_norm", roleOf(weight->symbol), {head, scale, head},
               {body.number(norm.getEps().convertToFloat())});
    }
  }
  body.set(norm.getResult(), ValueState(*in));
  return mlir::success();
}

mlir::LogicalResult lowerRmsNorm(BodyLowering& body, mlir::Operation* op) {
  auto norm = llvm::cast<graph::RmsNormOp>(op);
  if (ValueState* split = body.find(norm.getInput()); split != nullptr && split->form == Form::kSplit) {
    return lowerHeadNorm(body, norm);
  }
  if (norm.getHeads() != 1) return op->emitOpError() << "norms heads that are not split among lanes";
  ValueState* in = replicate(body, op, norm.getInput());
  auto weight = body.weight(op, norm.getWeightAttr());
  if (in == nullptr || mlir::failed(weight)) return mlir::failure();
  Tensor scale = body.streamed(kSharedLane, *weight, "f32", {0, 1}, {0, weight->columns});
  ValueState out;
  out.form = Form::kReplicated;
  for (int lane = 0; lane < body.lanes(); ++lane) {
    const Tensor& x = in->lanes[static_cast<size_t>(lane)];
    out.lanes.push_back(body.laneBuffer("norm", lane, DType::kF32, x.dims));
    body.run(lane, "cpu.rms_norm", roleOf(weight->symbol), {x, scale, out.lanes.back()},
             {body.number(norm.getEps().convertToFloat())});
  }
  body.set(norm.getResult(), out);
  return mlir::success();
}

/// act(gate) * up, into the memory of gate when nothing else reads it.
mlir::LogicalResult lowerMul(BodyLowering& body, mlir::Operation* op) {
  auto mul = llvm::cast<graph::MulOp>(op);
  ValueState* left = body.find(mul.getLhs());
  ValueState* up = body.find(mul.getRhs());
  if (left == nullptr || left->form != Form::kGate)
    return op->emitOpError() << "is no silu(gate) * up or gelu(gate) * up";
  mlir::Operation* activation = left->source;
  auto gelu = llvm::dyn_cast<graph::GeluOp>(activation);
  if (gelu && !gelu.getTanh()) return op->emitOpError() << "has a gelu of another form than tanh";
  mlir::Value input = activation->getOperand(0);
  ValueState* gate = body.find(input);
  if (gate == nullptr || up == nullptr || gate->form != Form::kSplit || up->form != Form::kSplit ||
      gate->ranges != up->ranges) {
    return op->emitOpError() << "multiplies columns that are not split among lanes in one way";
  }
  ValueState out = *gate;
  bool inPlace = input.hasOneUse() && activation->hasOneUse();
  const char* task = gelu ? "cpu.gelu_mul" : "cpu.silu_mul";
  for (int lane = 0; lane < body.lanes(); ++lane) {
    auto index = static_cast<size_t>(lane);
    if (out.ranges[index].count == 0) continue;
    if (!inPlace) out.lanes[index] = body.laneBuffer("gated", lane, DType::kF32, gate->lanes[index].dims);
    body.run(lane, task, gelu ? "gelu_mul" : "silu_mul", {gate->lanes[index], up->lanes[index], out.lanes[index]});
  }
  body.set(mul.getResult(), out);
  return mlir::success();
}

/// Rows of the embedding times a number, in every lane's copy.
mlir::LogicalResult lowerScale(BodyLowering& body, mlir::Operation* op) {
  auto scale = llvm::cast<graph::ScaleOp>(op);
  ValueState* in = body.find(scale.getInput());
  if (in == nullptr || in->form != Form::kTokens || !scale.getInput().hasOneUse()) {
    return op->emitOpError() << "scales in place, so it must be the only reader of the rows of an embedding";
  }
  in = replicate(body, op, scale.getInput());
  if (in == nullptr) return mlir::failure();
  for (const auto [lane, rows] : llvm::enumerate(in->lanes)) {
    body.run(static_cast<int>(lane), "cpu.scale", "embd_scale", {rows, rows},
             {body.number(scale.getFactor().convertToFloat())});
  }
  body.set(scale.getResult(), ValueState(*in));
  return mlir::success();
}

/// True when `op` is the activation of a gate that is then multiplied: there is one kernel for both.
bool isGate(mlir::Operation* op) {
  auto gelu = llvm::dyn_cast_or_null<graph::GeluOp>(op);
  if (!llvm::isa_and_nonnull<graph::SiluOp>(op) && !(gelu && gelu.getTanh())) return false;
  if (!op->hasOneUse()) return false;
  auto mul = llvm::dyn_cast<graph::MulOp>(*op->getUsers().begin());
  return mul && mul.getLhs() == op->getResult(0);
}

std::string whyNoSilu(mlir::Operation* op) { return isGate(op) ? "" : "it has silu only as silu(gate) * up"; }
std::string whyNoGelu(mlir::Operation* op) {
  return isGate(op) ? "" : "it has gelu only in the tanh form, as gelu(gate) * up";
}
std::string whyNoMul(mlir::Operation* op) {
  const bool isGated = isGate(llvm::cast<graph::MulOp>(op).getLhs().getDefiningOp());
  return isGated ? "" : "it has mul only as silu(gate) * up or gelu(gate) * up";
}
std::string whyNoScale(mlir::Operation* op) {
  mlir::Value input = llvm::cast<graph::ScaleOp>(op).getInput();
  const bool isOfRows = input.hasOneUse() && input.getDefiningOp<graph::EmbedOp>();
  return isOfRows ? "" : "it has scale only of the rows of an embedding";
}

CostModel costModel(int64_t lanes) {
  constexpr double kGiga = 1e9;
  // One lane reads weights at 25 GB/s; all lanes together get at most 200 GB/s. An int8 kernel that unpacks panels does
  // about a third of the VNNI peak of 430 GMAC/s. Attention and float products run near 20 GMAC/s.
  double bandwidth = std::min(25.0, 200.0 / static_cast<double>(lanes)) * kGiga;
  return {bandwidth, 150 * kGiga, 20 * kGiga, 20 * kGiga, 1e-7, 1e-6};
}

}  // namespace

const Target& cpuTarget() {
  static const Target target = {
      .number = blob::Target::kCpu,
      .kvType = DType::kF16,
      .fixedLanes = 0,
      .costModel = costModel,
      .loadHidden = loadCpuHidden,
      .keepResult = keepCpuResult,
      .storeOutput = storeCpuOutput,
      .rules =
          {
              {"graph.embed", {lowerEmbed}},
              {"graph.head", {lowerCpuHead}},
              {"graph.linear", {lowerCpuLinear}},
              {"graph.rms_norm", {lowerRmsNorm}},
              {"graph.rope", {lowerCpuRope}},
              {"graph.cache_update", {lowerCpuCacheUpdate}},
              {"graph.attention", {lowerCpuAttention}},
              {"graph.silu", {leaveToReader, whyNoSilu}},
              {"graph.gelu", {leaveToReader, whyNoGelu}},
              {"graph.scale", {lowerScale, whyNoScale}},
              {"graph.mul", {lowerMul, whyNoMul}},
              {"graph.add", {lowerCpuAdd}},
              {"graph.top_k", {lowerCpuTopK, whyNoTopK}},
          },
  };
  return target;
}

}  // namespace firn::target
