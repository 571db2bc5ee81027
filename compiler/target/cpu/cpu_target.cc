#include "compiler/target/cpu/cpu_target.h"

#include <algorithm>

#include "compiler/target/cpu/activations.h"
#include "compiler/target/cpu/lane_split.h"
#include "compiler/target/cpu/linear.h"
#include "compiler/target/key_bias.h"
#include "kernels/cpu/kernels.h"

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

mlir::LogicalResult lowerRope(BodyLowering& body, mlir::Operation* op) {
  auto rope = llvm::cast<graph::RopeOp>(op);
  ValueState* in = body.find(rope.getInput());
  auto freqs = body.weight(op, rope.getFreqsAttr());
  if (mlir::failed(freqs)) return mlir::failure();
  if (in == nullptr || in->form != Form::kSplit || !rope.getInput().hasOneUse()) {
    return op->emitOpError() << "rotates in place, so it must be the only reader of heads split among lanes";
  }
  int64_t headDim = llvm::cast<mlir::RankedTensorType>(rope.getType()).getDimSize(1) / rope.getHeads();
  Tensor table = body.ropeTable(*freqs, rope.getMagnitude().convertToFloat());
  Tensor positions = body.find(rope.getPositions())->lanes[0];
  for (int lane = 0; lane < body.lanes(); ++lane) {
    auto index = static_cast<size_t>(lane);
    if (in->ranges[index].count == 0) continue;
    body.run(lane, "cpu.rope", "rope", {in->lanes[index].heads(headDim), positions, table},
             {body.integer(static_cast<int64_t>(rope.getPairing())), body.integer(rope.getDims())});
  }
  body.set(rope.getResult(), ValueState(*in));
  return mlir::success();
}

mlir::LogicalResult lowerCacheUpdate(BodyLowering& body, mlir::Operation* op) {
  auto update = llvm::cast<graph::CacheUpdateOp>(op);
  ValueState* in = body.find(update.getInput());
  ValueState* cache = body.find(update.getCache());
  if (in == nullptr || in->form != Form::kSplit || cache == nullptr) {
    return op->emitOpError() << "writes heads that are not split among lanes";
  }
  int64_t headDim = body.shape().card.headDim;
  for (int lane = 0; lane < body.lanes(); ++lane) {
    auto index = static_cast<size_t>(lane);
    Range heads = {in->ranges[index].first / headDim, in->ranges[index].count / headDim};
    if (heads.count == 0) continue;
    llvm::SmallVector<Tensor> operands = {in->lanes[index].heads(headDim),
                                          cache->cache.slice(heads.first, heads.count)};
    if (cache->scales) operands.push_back(cache->scales->slice(heads.first, heads.count));
    body.run(lane, "cpu.kv_write", "kv_write", operands);
  }
  ValueState written = *cache;
  written.writtenSegment = body.segment();
  body.set(update.getResult(), written);
  return mlir::success();
}

/// What the attention over an i8 cache names besides the rest: scales, and the bias of the keys.
struct I8Operands {
  llvm::SmallVector<Tensor> tensors;
  llvm::SmallVector<mlir::Attribute> attrs;
};

mlir::FailureOr<I8Operands> i8Operands(BodyLowering& body, graph::AttentionOp attention, int lane, Range kvHeads) {
  I8Operands result;
  for (mlir::Value cache : {attention.getKeys(), attention.getValues()}) {
    result.tensors.push_back(body.find(cache)->scales->slice(kvHeads.first, kvHeads.count));
  }
  std::optional<KeyBias> bias = keyBiasOf(body.shape().kvType, attention);
  if (!bias) return result;
  auto weight = body.weight(bias->projection, bias->projection.getBiasAttr());
  auto freqs = body.weight(bias->rope, bias->rope.getFreqsAttr());
  if (mlir::failed(weight) || mlir::failed(freqs)) return mlir::failure();
  const int64_t headDim = body.shape().card.headDim;
  Tensor vector = body.streamed(lane, *weight, "f32", {0, 1}, {kvHeads.first * headDim, kvHeads.count * headDim});
  vector.dims = {kvHeads.count, headDim};
  vector.strides = {headDim, 1};
  result.tensors.push_back(vector);
  result.tensors.push_back(body.ropeTable(*freqs, bias->rope.getMagnitude().convertToFloat()));
  result.attrs = {body.integer(static_cast<int64_t>(bias->rope.getPairing())), body.integer(bias->rope.getDims())};
  return result;
}

mlir::LogicalResult lowerAttention(BodyLowering& body, mlir::Operation* op) {
  auto attention = llvm::cast<graph::AttentionOp>(op);
  ValueState* query = body.find(attention.getQuery());
  ValueState* keys = body.find(attention.getKeys());
  ValueState* values = body.find(attention.getValues());
  if (query == nullptr || query->form != Form::kSplit || keys == nullptr || values == nullptr) {
    return op->emitOpError() << "reads heads that are not split among lanes";
  }
  if (!attention.getMask()) return op->emitOpError() << "has no mask: run stateless first";
  body.barrierAfter(keys->writtenSegment);
  body.barrierAfter(values->writtenSegment);
  int64_t headDim = body.shape().card.headDim;
  int64_t group = attention.getHeads() / attention.getKvHeads();
  Tensor mask = body.find(attention.getMask())->lanes[0];
  ValueState out;
  out.form = Form::kSplit;
  out.ranges = query->ranges;
  out.lanes.resize(query->lanes.size());
  for (int lane = 0; lane < body.lanes(); ++lane) {
    auto index = static_cast<size_t>(lane);
    Range heads = {query->ranges[index].first / headDim, query->ranges[index].count / headDim};
    if (heads.count == 0) continue;
    int64_t firstKv = heads.first / group;
    int64_t kvHeads = (heads.first + heads.count - 1) / group - firstKv + 1;
    uint64_t floats = cpu::attentionWorkspaceFloats(static_cast<uint32_t>(body.rows()), static_cast<uint32_t>(group),
                                                    static_cast<uint32_t>(headDim));
    Tensor workspace =
        body.laneBuffer("attention_work", lane, DType::kF32, {std::max<int64_t>(1, static_cast<int64_t>(floats))});
    const Tensor& q = query->lanes[index];
    out.lanes[index] = body.laneBuffer("attention", lane, DType::kF32, q.dims);
    llvm::SmallVector<Tensor> operands = {q.heads(headDim), keys->cache.slice(firstKv, kvHeads),
                                          values->cache.slice(firstKv, kvHeads), mask, workspace};
    llvm::SmallVector<mlir::Attribute> attrs = {body.number(attention.getScale().convertToFloat()),
                                                body.integer(heads.first), body.integer(group),
                                                body.integer(attention.getWindow())};
    if (keys->scales) {
      auto more = i8Operands(body, attention, lane, {firstKv, kvHeads});
      if (mlir::failed(more)) return mlir::failure();
      operands.append(more->tensors);
      attrs.append(more->attrs);
    }
    operands.push_back(out.lanes[index].heads(headDim));
    body.run(lane, "cpu.attention", "attention", operands, attrs);
  }
  body.set(attention.getResult(), out);
  return mlir::success();
}

/// silu or gelu.
mlir::LogicalResult lowerActivation(BodyLowering& body, mlir::Operation* op) {
  ValueState state;
  state.form = Form::kGate;
  state.source = op;
  body.set(op->getResult(0), state);
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

/// Residual + partial sums: put off until somebody reads it, since that takes a barrier.
mlir::LogicalResult lowerAdd(BodyLowering& body, mlir::Operation* op) {
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

/// The residual stream passes between bodies as it is: copies per lane, and maybe partial sums. Their memory is the
/// group's already: replicate() and lowerLinear() see to it.
mlir::LogicalResult keepResult(BodyLowering& body, mlir::Value value, unsigned) {
  ValueState* state = body.find(value);
  bool passes = state != nullptr && (state->form == Form::kSum || state->form == Form::kReplicated);
  if (!passes) return mlir::emitError(value.getLoc()) << "a body can only return the residual stream";
  return mlir::success();
}

/// Each lane finishes and writes its columns of the hidden rows.
mlir::LogicalResult storeOutput(BodyLowering& body, mlir::Value value, blob::SymbolKind symbol) {
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
      .keepResult = keepResult,
      .storeOutput = storeOutput,
      .rules =
          {
              {"graph.embed", {lowerEmbed}},
              {"graph.head", {lowerCpuHead}},
              {"graph.linear", {lowerCpuLinear}},
              {"graph.rms_norm", {lowerRmsNorm}},
              {"graph.rope", {lowerRope}},
              {"graph.cache_update", {lowerCacheUpdate}},
              {"graph.attention", {lowerAttention}},
              {"graph.silu", {lowerActivation, whyNoSilu}},
              {"graph.gelu", {lowerActivation, whyNoGelu}},
              {"graph.scale", {lowerScale, whyNoScale}},
              {"graph.mul", {lowerMul, whyNoMul}},
              {"graph.add", {lowerAdd}},
          },
  };
  return target;
}

}  // namespace firn::target
