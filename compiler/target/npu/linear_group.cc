#include "compiler/target/npu/linear_group.h"

#include "kernels/quant/group_split.h"

namespace firn::target::npu {
namespace {

using Form = ValueState::Form;

bool isLayer(mlir::Operation* op) { return llvm::isa<graph::LinearOp, graph::HeadOp>(op); }
mlir::FlatSymbolRefAttr weightOf(mlir::Operation* op) { return op->getAttrOfType<mlir::FlatSymbolRefAttr>("weight"); }

/// A whole weight, in a stream with the others of its layer or in one of its own.
Tensor stored(BodyLowering& body, const WeightInfo& weight, llvm::StringRef form) {
  return weight.isFormal ? body.streamed(kSharedLane, weight, form, {0, weight.rows}, {0, weight.columns})
                         : body.whole(weight, form);
}

StoredWeights storedWeights(BodyLowering& body, const WeightInfo& weight) {
  StoredWeights stores;
  stores.type = weight.dtype;
  if (const auto format = quant::groupFormat(weight.dtype)) {
    stores.form = WeightForm::kGroups;
    stores.rows = stored(body, weight, "codes");
    stores.scales = stored(body, weight, "scales");
    if (format->hasMins) stores.mins = stored(body, weight, "mins");
    stores.bits = format->bits;
    stores.zero = format->zero;
    return stores;
  }
  stores.form = weight.dtype == DType::kF16 ? WeightForm::kHalf : WeightForm::kRaw;
  stores.rows = asBytes(stored(body, weight, "raw"), weight);
  return stores;
}

/// The only op that reads the result of `op`, if it is of type Op.
template <typename Op>
Op onlyUser(mlir::Operation* op) {
  mlir::Value result = op->getResult(0);
  return result.hasOneUse() ? llvm::dyn_cast<Op>(*result.getUsers().begin()) : Op();
}

/// The product that takes act(gate) and `up`, where nothing else reads any of them.
graph::MulOp gatedProduct(mlir::Operation* gate, mlir::Operation* up) {
  if (!gate->getResult(0).hasOneUse()) return {};
  mlir::Operation* activation = *gate->getResult(0).getUsers().begin();
  auto gelu = llvm::dyn_cast<graph::GeluOp>(activation);
  if (!llvm::isa<graph::SiluOp>(activation) && !(gelu && gelu.getTanh())) return {};
  auto product = onlyUser<graph::MulOp>(activation);
  return product && onlyUser<graph::MulOp>(up) == product ? product : graph::MulOp();
}

class GroupFinder {
 public:
  GroupFinder(BodyLowering& body, mlir::Operation* first) : body_(body), first_(first) {}

  mlir::FailureOr<LinearGroup> find() {
    if (mlir::failed(setInput())) return mlir::failure();
    llvm::SmallVector<mlir::Operation*> members = {first_};
    for (mlir::Operation* user : first_->getOperand(0).getUsers()) {
      if (user != first_ && isLayer(user) && user->getBlock() == first_->getBlock()) members.push_back(user);
    }
    llvm::sort(members, [](mlir::Operation* a, mlir::Operation* b) { return a->isBeforeInBlock(b); });
    for (mlir::Operation* member : members) {
      if (mlir::failed(addLayer(member))) return mlir::failure();
    }
    if (members.size() == 2 && setGate(members[0], members[1])) return group_;
    for (auto [member, layer] : llvm::zip(members, group_.layers)) placeResult(member, layer);
    return group_;
  }

 private:
  mlir::LogicalResult setInput() {
    ValueState* state = body_.find(first_->getOperand(0));
    mlir::Value source = first_->getOperand(0);
    if (state != nullptr && state->form == Form::kGate) {
      auto norm = llvm::cast<graph::RmsNormOp>(state->source);
      auto weight = body_.weight(norm, norm.getWeightAttr());
      if (mlir::failed(weight)) return mlir::failure();
      group_.normWeight = stored(body_, *weight, "f32");
      group_.eps = norm.getEps().convertToFloat();
      group_.normName = roleOf(norm.getWeight());
      source = norm.getInput();
    }
    auto x = scratch::input(body_, first_, source);
    if (mlir::failed(x)) return mlir::failure();
    group_.x = *x;
    return mlir::success();
  }

  mlir::LogicalResult addLayer(mlir::Operation* op) {
    auto weight = body_.weight(op, weightOf(op));
    if (mlir::failed(weight)) return mlir::failure();
    Layer layer;
    layer.name = roleOf(weightOf(op).getValue());
    layer.weights = storedWeights(body_, *weight);
    if (auto symbol = op->getAttrOfType<mlir::FlatSymbolRefAttr>("bias")) {
      auto bias = body_.weight(op, symbol);
      if (mlir::failed(bias)) return mlir::failure();
      layer.bias = stored(body_, *bias, "f32");
    }
    group_.layers.push_back(std::move(layer));
    return mlir::success();
  }

  bool setGate(mlir::Operation* a, mlir::Operation* b) {
    for (const bool isSwapped : {false, true}) {
      mlir::Operation* gate = isSwapped ? b : a;
      graph::MulOp product = gatedProduct(gate, isSwapped ? a : b);
      if (!product) continue;
      if (isSwapped) std::swap(group_.layers[0], group_.layers[1]);
      const bool isSilu = llvm::isa<graph::SiluOp>(*gate->getResult(0).getUsers().begin());
      group_.gate = isSilu ? "npu.silu_mul" : "npu.gelu_mul";
      const Tensor out = scratch::output(body_, product.getResult(), storedType(product.getResult()), first_);
      for (Layer& layer : group_.layers) layer.out = out;
      scratch::define(body_, product.getResult(), out);
      for (mlir::Operation* op : {a, b}) setInside(op->getResult(0), product);
      return true;
    }
    return false;
  }

  /// The rope that alone reads the result of `op`, fused into `layer`.
  bool setTurn(mlir::Operation* op, Layer& layer) {
    auto rope = onlyUser<graph::RopeOp>(op);
    if (!rope || rope->getBlock() != op->getBlock()) return false;
    auto freqs = body_.weight(rope, rope.getFreqsAttr());
    ValueState* positions = body_.find(rope.getPositions());
    if (mlir::failed(freqs) || positions == nullptr) return false;
    const Tensor table = body_.whole(*freqs, "f32");
    for (const Layer& other : group_.layers) {  // the group loads one table
      if (other.turn && other.turn->freqs.base != table.base) return false;
    }
    layer.turn = {positions->lanes[0],
                  table,
                  layer.weights.rows.dims[0] / rope.getHeads(),
                  static_cast<int64_t>(rope.getPairing()),
                  rope.getDims(),
                  rope.getMagnitude().convertToFloat()};
    layer.out = scratch::output(body_, rope.getResult(), storedType(rope.getResult()), first_);
    scratch::define(body_, rope.getResult(), layer.out);
    setInside(op->getResult(0), rope);
    return true;
  }

  /// `value` is left to `reader`: nobody else reads it.
  void setInside(mlir::Value value, mlir::Operation* reader) {
    ValueState inside;
    inside.form = Form::kGate;
    inside.source = reader;
    body_.set(value, inside);
  }

  /// The result, or what is made of it at once: its turn, or its sum with a value that is there already.
  void placeResult(mlir::Operation* op, Layer& layer) {
    mlir::Value result = op->getResult(0);
    if (setTurn(op, layer)) return;
    auto sum = onlyUser<graph::AddOp>(op);
    mlir::Value other = sum ? (sum.getLhs() == result ? sum.getRhs() : sum.getLhs()) : mlir::Value();
    ValueState* state = other && other != result ? body_.find(other) : nullptr;
    const bool isFusable = state != nullptr && state->form == Form::kReplicated && state->lanes[0].dtype == DType::kF32;
    if (!isFusable) {
      layer.out = scratch::output(body_, result, storedType(result));
      scratch::define(body_, result, layer.out);
      return;
    }
    layer.addend = state->lanes[0];
    layer.out = scratch::output(body_, sum.getResult(), DType::kF32, first_);
    scratch::define(body_, sum.getResult(), layer.out);
    setInside(result, sum);
  }

  BodyLowering& body_;
  mlir::Operation* first_;
  LinearGroup group_;
};

}  // namespace

uint64_t StoredWeights::rowBytes() const {
  uint64_t bytes = static_cast<uint64_t>(rows.dims[1]);
  if (form == WeightForm::kGroups) bytes += static_cast<uint64_t>(scales.dims[1]) * (mins ? 4 : 2);
  return bytes;
}

mlir::FailureOr<LinearGroup> groupOf(BodyLowering& body, mlir::Operation* op) { return GroupFinder(body, op).find(); }

bool isFused(graph::RmsNormOp norm) {
  return norm.getHeads() == 1 && !norm.getResult().use_empty() &&
         llvm::all_of(norm.getResult().getUsers(),
                      [&](mlir::Operation* user) { return isLayer(user) && user->getBlock() == norm->getBlock(); });
}

}  // namespace firn::target::npu
