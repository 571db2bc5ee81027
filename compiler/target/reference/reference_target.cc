#include "compiler/target/reference/reference_target.h"

#include "compiler/target/key_bias.h"
#include "compiler/target/scratch_values.h"
#include "compiler/target/top_k_rule.h"

namespace firn::target {
namespace {

constexpr int kLane = 0;  // there is only one

using scratch::define;
using scratch::input;
using scratch::output;

void copy(BodyLowering& body, const Tensor& from, const Tensor& to) { body.run(kLane, "ref.copy", "copy", {from, to}); }

mlir::LogicalResult loadHidden(BodyLowering& body, mlir::Value value) {
  return scratch::copyTo(body, value, scratch::crossing(body, "x0", DType::kF32, value.getType()), copy);
}

mlir::LogicalResult keepResult(BodyLowering& body, mlir::Value value, unsigned index) {
  return scratch::keep(body, value, index, copy);
}

mlir::LogicalResult storeOutput(BodyLowering& body, mlir::Value value, blob::SymbolKind symbol) {
  return scratch::store(body, value, symbol, copy);
}

/// A weight in its source type: those of a layer one behind the other, those of the module on their own.
mlir::FailureOr<Tensor> rawWeight(BodyLowering& body, mlir::Operation* op, mlir::FlatSymbolRefAttr symbol) {
  mlir::FailureOr<WeightInfo> weight = body.weight(op, symbol);
  if (mlir::failed(weight)) return mlir::failure();
  if (!weight->isFormal) return body.whole(*weight, "raw");
  return body.streamed(kLane, *weight, "raw", {0, weight->rows}, {0, weight->columns});
}

template <typename Op>
mlir::LogicalResult lowerLinear(BodyLowering& body, mlir::Operation* op) {
  auto linear = llvm::cast<Op>(op);
  auto in = input(body, op, linear.getInput());
  auto weight = rawWeight(body, op, linear.getWeightAttr());
  if (mlir::failed(in) || mlir::failed(weight)) return mlir::failure();
  llvm::SmallVector<Tensor> operands = {*in, *weight};
  auto projection = llvm::dyn_cast<graph::LinearOp>(op);
  const bool leavesBias = projection && leavesBiasToAttention(body.shape().kvType, projection);
  if (linear.getBiasAttr() && !leavesBias) {
    auto bias = rawWeight(body, op, linear.getBiasAttr());
    if (mlir::failed(bias)) return mlir::failure();
    operands.push_back(*bias);
  }
  operands.push_back(output(body, linear.getResult()));
  body.run(kLane, "ref.linear", roleOf(linear.getWeight()), operands);
  define(body, linear.getResult(), operands.back());
  return mlir::success();
}

mlir::LogicalResult lowerEmbed(BodyLowering& body, mlir::Operation* op) {
  auto embed = llvm::cast<graph::EmbedOp>(op);
  auto table = rawWeight(body, op, embed.getWeightAttr());
  if (mlir::failed(table)) return mlir::failure();
  Tensor out = output(body, embed.getResult());
  body.run(kLane, "ref.embed", "embed", {body.find(embed.getIds())->lanes[kLane], *table, out});
  define(body, embed.getResult(), out);
  return mlir::success();
}

mlir::LogicalResult lowerRmsNorm(BodyLowering& body, mlir::Operation* op) {
  auto norm = llvm::cast<graph::RmsNormOp>(op);
  auto in = input(body, op, norm.getInput());
  auto weight = rawWeight(body, op, norm.getWeightAttr());
  if (mlir::failed(in) || mlir::failed(weight)) return mlir::failure();
  Tensor out = output(body, norm.getResult());
  const int64_t width = in->dims[1] / norm.getHeads();
  for (int64_t first = 0; first < in->dims[1]; first += width) {
    body.run(kLane, "ref.rms_norm", roleOf(norm.getWeight()),
             {in->columns(first, width), *weight, out.columns(first, width)},
             {body.number(norm.getEps().convertToFloat())});
  }
  define(body, norm.getResult(), out);
  return mlir::success();
}

mlir::LogicalResult lowerLayerNorm(BodyLowering& body, mlir::Operation* op) {
  auto norm = llvm::cast<graph::LayerNormOp>(op);
  auto in = input(body, op, norm.getInput());
  auto weight = rawWeight(body, op, norm.getWeightAttr());
  if (mlir::failed(in) || mlir::failed(weight)) return mlir::failure();
  llvm::SmallVector<Tensor> operands = {*in, *weight};
  if (norm.getBiasAttr()) {
    auto bias = rawWeight(body, op, norm.getBiasAttr());
    if (mlir::failed(bias)) return mlir::failure();
    operands.push_back(*bias);
  }
  operands.push_back(output(body, norm.getResult()));
  body.run(kLane, "ref.layer_norm", roleOf(norm.getWeight()), operands, {body.number(norm.getEps().convertToFloat())});
  define(body, norm.getResult(), operands.back());
  return mlir::success();
}

mlir::LogicalResult lowerRope(BodyLowering& body, mlir::Operation* op) {
  auto rope = llvm::cast<graph::RopeOp>(op);
  auto in = input(body, op, rope.getInput());
  auto freqs = body.weight(op, rope.getFreqsAttr());
  if (mlir::failed(in) || mlir::failed(freqs)) return mlir::failure();
  Tensor out = output(body, rope.getResult());
  int64_t headDim = in->dims[1] / rope.getHeads();
  body.run(
      kLane, "ref.rope", "rope",
      {in->heads(headDim), body.find(rope.getPositions())->lanes[kLane], body.whole(*freqs, "f32"), out.heads(headDim)},
      {body.integer(static_cast<int64_t>(rope.getPairing())), body.integer(rope.getDims()),
       body.number(rope.getMagnitude().convertToFloat())});
  define(body, rope.getResult(), out);
  return mlir::success();
}

mlir::LogicalResult lowerCacheUpdate(BodyLowering& body, mlir::Operation* op) {
  auto update = llvm::cast<graph::CacheUpdateOp>(op);
  auto in = input(body, op, update.getInput());
  ValueState* cache = body.find(update.getCache());
  if (mlir::failed(in) || cache == nullptr) return mlir::failure();
  llvm::SmallVector<Tensor> operands = {in->heads(in->dims[1] / update.getHeads()), cache->cache};
  if (cache->scales) operands.push_back(*cache->scales);
  body.run(kLane, "ref.state_write", "kv_write", operands);
  body.set(update.getResult(), ValueState(*cache));
  return mlir::success();
}

/// Adds the bias that the keys are stored without, where there is one.
mlir::LogicalResult addKeyBias(BodyLowering& body, graph::AttentionOp attention, llvm::SmallVector<Tensor>& operands,
                               llvm::SmallVector<mlir::Attribute>& attrs) {
  std::optional<KeyBias> keyBias = keyBiasOf(body.shape().kvType, attention);
  if (!keyBias) return mlir::success();
  graph::RopeOp rope = keyBias->rope;
  auto bias = rawWeight(body, keyBias->projection, keyBias->projection.getBiasAttr());
  auto freqs = body.weight(rope, rope.getFreqsAttr());
  if (mlir::failed(bias) || mlir::failed(freqs)) return mlir::failure();
  bias->dims = {body.shape().card.kvHeads, body.shape().card.headDim};
  bias->strides = {body.shape().card.headDim, 1};
  operands.append({*bias, body.whole(*freqs, "f32")});
  attrs.append({body.integer(static_cast<int64_t>(rope.getPairing())), body.integer(rope.getDims()),
                body.number(rope.getMagnitude().convertToFloat())});
  return mlir::success();
}

mlir::LogicalResult lowerAttention(BodyLowering& body, mlir::Operation* op) {
  auto attention = llvm::cast<graph::AttentionOp>(op);
  auto query = input(body, op, attention.getQuery());
  ValueState* keys = body.find(attention.getKeys());
  ValueState* values = body.find(attention.getValues());
  if (mlir::failed(query) || keys == nullptr || values == nullptr) return mlir::failure();
  if (!attention.getMask()) return op->emitOpError() << "has no mask: run stateless first";
  Tensor k = keys->cache;
  Tensor v = values->cache;
  Tensor out = output(body, attention.getResult());
  int64_t headDim = query->dims[1] / attention.getHeads();
  llvm::SmallVector<Tensor> operands = {query->heads(headDim), k, v, body.find(attention.getMask())->lanes[kLane]};
  llvm::SmallVector<mlir::Attribute> attrs = {body.number(attention.getScale().convertToFloat()),
                                              body.integer(attention.getWindow())};
  if (k.dtype != DType::kF32) {
    operands.push_back(
        body.sharedBuffer("attention_rows", DType::kF32, {2, attention.getKvHeads(), body.shape().kvRows, headDim}));
  }
  if (keys->scales) {
    operands.append({*keys->scales, *values->scales});
    if (mlir::failed(addKeyBias(body, attention, operands, attrs))) return mlir::failure();
  }
  operands.push_back(out.heads(headDim));
  body.run(kLane, "ref.attention", "attention", operands, attrs);
  define(body, attention.getResult(), out);
  return mlir::success();
}

/// Ops whose operands are matrices and nothing else: `attrs` gives the task's attributes.
mlir::LogicalResult lowerPlain(BodyLowering& body, mlir::Operation* op, llvm::StringRef task,
                               llvm::ArrayRef<mlir::Attribute> attrs = {}) {
  llvm::SmallVector<Tensor> operands;
  for (mlir::Value value : op->getOperands()) {
    auto in = input(body, op, value);
    if (mlir::failed(in)) return mlir::failure();
    operands.push_back(*in);
  }
  operands.push_back(output(body, op->getResult(0)));
  body.run(kLane, task, op->getName().stripDialect(), operands, attrs);
  define(body, op->getResult(0), operands.back());
  return mlir::success();
}

mlir::LogicalResult lowerTopK(BodyLowering& body, mlir::Operation* op) {
  auto topK = llvm::cast<graph::TopKOp>(op);
  auto in = input(body, op, topK.getInput());
  if (mlir::failed(in)) return mlir::failure();
  auto shape = llvm::cast<mlir::RankedTensorType>(topK.getValues().getType()).getShape();
  body.run(kLane, "ref.top_k", "top_k",
           {*in, denseTensor(blob::Space::kSymbol, "top_logits", DType::kF32, shape),
            denseTensor(blob::Space::kSymbol, "top_ids", DType::kI32, shape)});
  return mlir::success();
}

mlir::LogicalResult lowerSilu(BodyLowering& body, mlir::Operation* op) { return lowerPlain(body, op, "ref.silu"); }
mlir::LogicalResult lowerMul(BodyLowering& body, mlir::Operation* op) { return lowerPlain(body, op, "ref.mul"); }
mlir::LogicalResult lowerAdd(BodyLowering& body, mlir::Operation* op) { return lowerPlain(body, op, "ref.add"); }
mlir::LogicalResult lowerConcat(BodyLowering& body, mlir::Operation* op) { return lowerPlain(body, op, "ref.concat"); }
mlir::LogicalResult lowerGelu(BodyLowering& body, mlir::Operation* op) {
  return lowerPlain(body, op, "ref.gelu", {body.integer(llvm::cast<graph::GeluOp>(op).getTanh() ? 1 : 0)});
}
mlir::LogicalResult lowerScale(BodyLowering& body, mlir::Operation* op) {
  double factor = llvm::cast<graph::ScaleOp>(op).getFactor().convertToFloat();
  return lowerPlain(body, op, "ref.scale", {body.number(factor)});
}
mlir::LogicalResult lowerSoftcap(BodyLowering& body, mlir::Operation* op) {
  double cap = llvm::cast<graph::SoftcapOp>(op).getCap().convertToFloat();
  return lowerPlain(body, op, "ref.softcap", {body.number(cap)});
}
mlir::LogicalResult lowerSlice(BodyLowering& body, mlir::Operation* op) {
  return lowerPlain(body, op, "ref.slice", {body.integer(llvm::cast<graph::SliceOp>(op).getStart())});
}

/// Plain loops over dequantized rows: about 2 GMAC/s whatever the type.
CostModel costModel(int64_t) {
  constexpr double kRate = 2e9;
  return {kRate, kRate, kRate, kRate, 1e-7, 0};
}

}  // namespace

const Target& referenceTarget() {
  static const Target target = {
      .number = blob::Target::kReference,
      .kvType = DType::kF32,
      .fixedLanes = 1,
      .costModel = costModel,
      .loadHidden = loadHidden,
      .keepResult = keepResult,
      .storeOutput = storeOutput,
      .rules =
          {
              {"graph.embed", {lowerEmbed}},
              {"graph.head", {lowerLinear<graph::HeadOp>}},
              {"graph.linear", {lowerLinear<graph::LinearOp>}},
              {"graph.rms_norm", {lowerRmsNorm}},
              {"graph.layer_norm", {lowerLayerNorm}},
              {"graph.rope", {lowerRope}},
              {"graph.cache_update", {lowerCacheUpdate}},
              {"graph.attention", {lowerAttention}},
              {"graph.silu", {lowerSilu}},
              {"graph.gelu", {lowerGelu}},
              {"graph.mul", {lowerMul}},
              {"graph.add", {lowerAdd}},
              {"graph.scale", {lowerScale}},
              {"graph.softcap", {lowerSoftcap}},
              {"graph.slice", {lowerSlice}},
              {"graph.concat", {lowerConcat}},
              {"graph.top_k", {lowerTopK, whyNoTopK}},
          },
  };
  return target;
}

}  // namespace firn::target
