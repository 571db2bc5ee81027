#include "compiler/target/npu/linear_group.h"

#include "compiler/target/npu/linear_shape.h"

namespace firn::target::npu {
namespace {

StoredWeights storedWeights(BodyLowering& body, const WeightInfo& weight) {
  const WeightStorage storage = storageOf(weight.dtype);
  StoredWeights stores;
  stores.type = weight.dtype;
  stores.form = storage.form;
  if (storage.form != WeightForm::kGroups) {
    stores.rows = asBytes(stored(body, weight, "raw"), weight);
    return stores;
  }
  stores.rows = stored(body, weight, "codes");
  stores.scales = stored(body, weight, "scales");
  if (storage.hasMins) stores.mins = stored(body, weight, "mins");
  stores.bits = storage.bits;
  stores.zero = storage.zero;
  return stores;
}

class GroupBuilder {
 public:
  GroupBuilder(BodyLowering& body, const FusedGroup& fused)
      : body_(body), fused_(fused), first_(fused.layers.front().op) {
    for (const FusedLayer& layer : fused.layers) {
      if (layer.op->isBeforeInBlock(first_)) first_ = layer.op;
    }
  }

  mlir::FailureOr<LinearGroup> build() {
    if (mlir::failed(setInput())) return mlir::failure();
    for (const FusedLayer& layer : fused_.layers) {
      if (mlir::failed(addLayer(layer.op))) return mlir::failure();
    }
    if (fused_.activation != nullptr) {
      setGate();
      return group_;
    }
    for (auto [fused, layer] : llvm::zip(fused_.layers, group_.layers)) {
      if (mlir::failed(placeResult(fused, layer))) return mlir::failure();
    }
    return group_;
  }

 private:
  mlir::LogicalResult setInput() {
    if (graph::RmsNormOp norm = fused_.norm) {
      auto weight = body_.weight(norm, norm.getWeightAttr());
      if (mlir::failed(weight)) return mlir::failure();
      group_.normWeight = stored(body_, *weight, "f32");
      group_.eps = norm.getEps().convertToFloat();
      group_.normName = roleOf(norm.getWeight());
    }
    auto x = scratch::input(body_, first_, fused_.input());
    if (mlir::failed(x)) return mlir::failure();
    group_.x = *x;
    if (!group_.normWeight || x->dtype == DType::kF32) return mlir::success();
    return first_->emitOpError() << "npu.linear_c2: the norm of its group reads a value that is kept as f16";
  }

  mlir::LogicalResult addLayer(mlir::Operation* op) {
    auto symbol = op->getAttrOfType<mlir::FlatSymbolRefAttr>("weight");
    auto weight = body_.weight(op, symbol);
    if (mlir::failed(weight)) return mlir::failure();
    Layer layer;
    layer.name = roleOf(symbol.getValue());
    layer.weights = storedWeights(body_, *weight);
    if (auto biasSymbol = op->getAttrOfType<mlir::FlatSymbolRefAttr>("bias")) {
      auto bias = body_.weight(op, biasSymbol);
      if (mlir::failed(bias)) return mlir::failure();
      layer.bias = stored(body_, *bias, "f32");
    }
    group_.layers.push_back(std::move(layer));
    return mlir::success();
  }

  void setGate() {
    group_.gate = llvm::isa<graph::SiluOp>(fused_.activation) ? "npu.silu_mul" : "npu.gelu_mul";
    graph::MulOp product = fused_.product;
    const Tensor out = place(product.getResult(), storedType(product.getResult()));
    for (Layer& layer : group_.layers) layer.out = out;
  }

  /// The result, or what is made of it at once: its turn, or its sum with a value that is there already.
  mlir::LogicalResult placeResult(const FusedLayer& fused, Layer& layer) {
    mlir::Value result = fused.op->getResult(0);
    if (fused.rope) return setTurn(fused.rope, layer);
    if (graph::AddOp sum = fused.sum) {
      auto addend = scratch::input(body_, sum, sum.getLhs() == result ? sum.getRhs() : sum.getLhs());
      if (mlir::failed(addend)) return mlir::failure();
      if (addend->dtype != DType::kF32) {
        return sum.emitOpError() << "npu.linear_c2: the sum of its group takes a value that is kept as f16";
      }
      layer.addend = *addend;
      layer.out = place(sum.getResult(), DType::kF32);
    } else {
      layer.out = place(result, storedType(result));
    }
    return mlir::success();
  }

  mlir::LogicalResult setTurn(graph::RopeOp rope, Layer& layer) {
    auto freqs = body_.weight(rope, rope.getFreqsAttr());
    ValueState* positions = body_.find(rope.getPositions());
    if (mlir::failed(freqs) || positions == nullptr) return mlir::failure();
    layer.turn = {positions->lanes[0],
                  body_.whole(*freqs, "f32"),
                  layer.weights.rows.dims[0] / rope.getHeads(),
                  static_cast<int64_t>(rope.getPairing()),
                  rope.getDims(),
                  rope.getMagnitude().convertToFloat()};
    layer.out = place(rope.getResult(), storedType(rope.getResult()));
    return mlir::success();
  }

  /// Memory for what the tasks of the group, which stand at its first layer, make of a result.
  Tensor place(mlir::Value value, DType type) {
    const Tensor out = scratch::output(body_, value, type, first_);
    scratch::define(body_, value, out);
    return out;
  }

  BodyLowering& body_;
  const FusedGroup& fused_;
  mlir::Operation* first_;  ///< where the tasks stand
  LinearGroup group_;
};

}  // namespace

mlir::FailureOr<LinearGroup> groupOf(BodyLowering& body, const FusedGroup& fused) {
  return GroupBuilder(body, fused).build();
}

}  // namespace firn::target::npu
