#include "compiler/target/cpu/attention.h"

#include <algorithm>

#include "compiler/target/key_bias.h"
#include "kernels/cpu/kernels.h"

namespace firn::target {
namespace {

using Form = ValueState::Form;

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

}  // namespace

mlir::LogicalResult lowerCpuRope(BodyLowering& body, mlir::Operation* op) {
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

mlir::LogicalResult lowerCpuCacheUpdate(BodyLowering& body, mlir::Operation* op) {
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

mlir::LogicalResult lowerCpuAttention(BodyLowering& body, mlir::Operation* op) {
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

}  // namespace firn::target
