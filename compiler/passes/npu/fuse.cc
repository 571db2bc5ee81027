// Phase "fuse": npu/passes.h.
#include "compiler/passes/npu/passes.h"
#include "compiler/target/npu/fused_group.h"
#include "compiler/target/npu/npu_body.h"
#include "compiler/target/targets.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {
namespace {

using mlir::Operation;
using mlir::Value;
using target::npu::isLinearLayer;
using target::npu::storedType;

/// The only op that reads the result of `op`, if it is of type Op and in the same function.
template <typename Op>
Op onlyReader(Operation* op) {
  Value result = op->getResult(0);
  return result.hasOneUse() ? llvm::dyn_cast<Op>(*result.getUsers().begin()) : Op();
}

/// A gate's activation and the product that takes it.
struct Gate {
  Operation* activation = nullptr;
  graph::MulOp product;
};

/// act(gate) * factor, where nothing else reads any of them.
Gate gateOf(Operation* gate, Operation* factor) {
  if (!gate->getResult(0).hasOneUse()) return {};
  Operation* activation = *gate->getResult(0).getUsers().begin();
  auto gelu = llvm::dyn_cast<graph::GeluOp>(activation);
  if (!llvm::isa<graph::SiluOp>(activation) && !(gelu && gelu.getTanh())) return {};
  auto product = onlyReader<graph::MulOp>(activation);
  if (!product || onlyReader<graph::MulOp>(factor) != product) return {};
  return {activation, product};
}

/// Gives numbers to the groups of one function.
class Fuser {
 public:
  explicit Fuser(mlir::Block& block) : block_(block) {}

  void run() {
    for (Operation& op : block_) {
      if (isLinearLayer(&op) && !op.hasAttr(graph::kGroupAttr)) makeGroup(&op);
    }
  }

 private:
  void makeGroup(Operation* first) {
    number_ = mlir::IntegerAttr::get(mlir::IntegerType::get(first->getContext(), 32), count_++);
    first_ = first;
    llvm::SmallVector<Operation*> layers;
    for (Operation* user : first->getOperand(0).getUsers()) {
      if (isLinearLayer(user) && user->getBlock() == &block_) layers.push_back(user);
    }
    llvm::sort(layers, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
    for (Operation* layer : layers) add(layer);
    if (auto norm = first->getOperand(0).getDefiningOp<graph::RmsNormOp>(); norm && isOnlyForLayers(norm)) add(norm);
    if (layers.size() == 2 && (addGate(layers[0], layers[1]) || addGate(layers[1], layers[0]))) return;
    graph::RopeOp turned;
    for (Operation* layer : layers) {
      if (!addRope(layer, turned)) addSum(layer);
    }
  }

  void add(Operation* op) { op->setAttr(graph::kGroupAttr, number_); }

  /// A norm of whole rows that are kept as f32, whose readers all are layers, which are those of its group.
  bool isOnlyForLayers(graph::RmsNormOp norm) const {
    return norm.getHeads() == 1 && storedType(norm.getInput()) == DType::kF32 &&
           llvm::all_of(norm.getResult().getUsers(),
                        [&](Operation* user) { return isLinearLayer(user) && user->getBlock() == &block_; });
  }

  bool addGate(Operation* gate, Operation* factor) {
    const Gate found = gateOf(gate, factor);
    if (found.activation == nullptr) return false;
    add(found.activation);
    add(found.product);
    return true;
  }

  /// All ropes of a group turn by one table of frequencies and by one list of positions: those of `first`.
  bool addRope(Operation* layer, graph::RopeOp& first) {
    auto rope = onlyReader<graph::RopeOp>(layer);
    if (!rope || rope->getBlock() != &block_ || !isThereBefore(rope.getPositions())) return false;
    if (!first) first = rope;
    if (first.getFreqsAttr() != rope.getFreqsAttr() || first.getPositions() != rope.getPositions()) return false;
    add(rope);
    return true;
  }

  /// What is added is a residual stream, kept as f32.
  void addSum(Operation* layer) {
    auto sum = onlyReader<graph::AddOp>(layer);
    if (!sum || sum->getBlock() != &block_) return;
    Value result = layer->getResult(0);
    Value other = sum.getLhs() == result ? sum.getRhs() : sum.getLhs();
    if (other != result && isThereBefore(other) && storedType(other) == DType::kF32) add(sum);
  }

  /// True when `value` is in memory before the tasks of the group run.
  bool isThereBefore(Value value) const {
    Operation* maker = value.getDefiningOp();
    return maker == nullptr || maker->isBeforeInBlock(first_);
  }

  mlir::Block& block_;
  int32_t count_ = 0;
  // Of the group at hand.
  mlir::IntegerAttr number_;
  Operation* first_ = nullptr;
};

class FusePass : public mlir::PassWrapper<FusePass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FusePass)

  llvm::StringRef getArgument() const final { return "npu-fuse"; }
  llvm::StringRef getDescription() const final { return "Ops whose tasks are made together get one number"; }

  void runOnOperation() final {
    for (auto func : getOperation().getOps<graph::FuncOp>()) {
      if (target::needsMachine(func)) Fuser(func.getBody().front()).run();
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> createNpuFusePass() { return std::make_unique<FusePass>(); }

}  // namespace firn::passes
