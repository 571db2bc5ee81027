// Phase "strategy": npu/passes.h.
#include <map>

#include "compiler/passes/npu/machine_of.h"
#include "compiler/passes/npu/passes.h"
#include "compiler/target/npu/linear_shape.h"
#include "compiler/target/npu/tiling_attr.h"
#include "compiler/target/targets.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {
namespace {

using target::npu::AttentionShape;
using target::npu::AttentionTiling;
using target::npu::FusedGroup;
using target::npu::FusedLayer;
using target::npu::LinearShape;
using target::npu::LinearTiling;

/// What is made behind a layer, with it.
llvm::SmallVector<mlir::Operation*, 2> behind(const FusedLayer& layer) {
  llvm::SmallVector<mlir::Operation*, 2> ops;
  if (mlir::Operation* rope = layer.rope) ops.push_back(rope);
  if (mlir::Operation* sum = layer.sum) ops.push_back(sum);
  return ops;
}

/// The tilings of a function's ops.
class Strategist {
 public:
  explicit Strategist(const machine::Machine& machine) : machine_(machine) {}

  mlir::LogicalResult run(graph::FuncOp func) {
    for (mlir::Operation& op : func.getBody().front()) {
      const bool isLayer = target::npu::isLinearLayer(&op) && target::npu::leadsGroup(&op);
      if (isLayer && mlir::failed(tileGroup(&op))) return mlir::failure();
      auto attention = llvm::dyn_cast<graph::AttentionOp>(op);
      if (attention && mlir::failed(tileAttention(attention))) return mlir::failure();
    }
    return mlir::success();
  }

 private:
  /// A group that does not fit loses ops until what is left does: they get tasks of their own.
  mlir::LogicalResult tileGroup(mlir::Operation* leader) {
    while (true) {
      const FusedGroup group = target::npu::fusedGroupOf(leader);
      if (!group.isWhole()) return leader->emitOpError() << "npu.strategy_c3: its group is not as fuse makes it";
      auto shape = target::npu::shapeOf(group, tables_);
      if (mlir::failed(shape)) return mlir::failure();
      const Result<LinearTiling>& tiling = found(linear_, *shape);
      if (tiling) return setTiling(leader, *tiling);
      if (takeApart(group)) continue;
      const Result<LinearTiling> lean = target::npu::chooseTiling(machine_, *shape, target::npu::Room::kLean);
      return lean ? setTiling(leader, *lean) : refuse(leader, lean.status());
    }
  }

  /// Takes out of a group what it can do without: the ropes, then the norm, then the layers but the first. False: there
  /// is nothing left to take.
  bool takeApart(const FusedGroup& group) {
    bool hasRope = false;
    for (const FusedLayer& layer : group.layers) {
      if (graph::RopeOp rope = layer.rope) {
        rope->removeAttr(graph::kGroupAttr);
        hasRope = true;
      }
    }
    if (hasRope) return true;
    if (graph::RmsNormOp norm = group.norm) {
      norm->removeAttr(graph::kGroupAttr);
      return true;
    }
    if (group.layers.size() == 1) return false;
    if (group.activation != nullptr) {
      group.activation->removeAttr(graph::kGroupAttr);
      graph::MulOp product = group.product;
      product->removeAttr(graph::kGroupAttr);
    }
    for (const FusedLayer& layer : group.layers) makeAlone(layer);
    return true;
  }

  /// A layer, with what is made behind it, under a number that no other group has.
  void makeAlone(const FusedLayer& layer) {
    constexpr int64_t kAbove = 1 << 16;  // of all numbers that fuse gives
    const auto number = mlir::IntegerAttr::get(mlir::IntegerType::get(layer.op->getContext(), 32), kAbove + alone_++);
    layer.op->setAttr(graph::kGroupAttr, number);
    for (mlir::Operation* op : behind(layer)) op->setAttr(graph::kGroupAttr, number);
  }

  mlir::LogicalResult tileAttention(graph::AttentionOp op) {
    auto query = llvm::cast<mlir::RankedTensorType>(op.getQuery().getType());
    auto mask = op.getMask() ? llvm::cast<mlir::RankedTensorType>(op.getMask().getType()) : mlir::RankedTensorType();
    if (!mask || !mask.hasStaticShape() || !query.hasStaticShape() || mask.getDimSize(0) < query.getDimSize(0)) {
      return op.emitOpError() << "npu.strategy_c3: needs a mask of a known context that holds its rows: run freeze and "
                              << "legalize first";
    }
    const AttentionShape shape = {.m = query.getDimSize(0),
                                  .kvHeads = op.getKvHeads(),
                                  .group = op.getHeads() / op.getKvHeads(),
                                  .headDim = query.getDimSize(1) / op.getHeads(),
                                  .context = mask.getDimSize(0)};
    const Result<AttentionTiling>& tiling = found(attention_, shape);
    return tiling ? setTiling(op, *tiling) : refuse(op, tiling.status());
  }

  template <typename Tiling>
  static mlir::LogicalResult setTiling(mlir::Operation* op, const Tiling& tiling) {
    op->setAttr(graph::kTilingAttr, target::npu::tilingAttr(op->getContext(), tiling));
    return mlir::success();
  }

  static mlir::LogicalResult refuse(mlir::Operation* op, const Status& why) {
    return op->emitOpError() << "npu.strategy_c2: " << why.message()
                             << "; compile for a machine with more, for other chunks or contexts, or for the cpu";
  }

  /// Ops that look alike are cut alike, so each signature is searched once.
  template <typename Shape, typename Tiling>
  const Result<Tiling>& found(std::map<Shape, Result<Tiling>>& known, const Shape& shape) {
    auto tiling = known.find(shape);
    if (tiling == known.end()) tiling = known.emplace(shape, target::npu::chooseTiling(machine_, shape)).first;
    return tiling->second;
  }

  const machine::Machine& machine_;
  mlir::SymbolTableCollection tables_;
  int64_t alone_ = 0;  ///< layers that were taken out of their groups
  std::map<LinearShape, Result<LinearTiling>> linear_;
  std::map<AttentionShape, Result<AttentionTiling>> attention_;
};

class StrategyPass : public mlir::PassWrapper<StrategyPass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StrategyPass)

  llvm::StringRef getArgument() const final { return "npu-strategy"; }
  llvm::StringRef getDescription() const final { return "How linear layers and attentions are cut into tasks"; }

  void runOnOperation() final {
    llvm::SmallVector<graph::FuncOp> funcs;
    for (auto func : getOperation().getOps<graph::FuncOp>()) {
      if (target::needsMachine(func)) funcs.push_back(func);
    }
    if (funcs.empty()) return;
    auto machine = machineOf(getOperation(), graph::kMachineAttr, "npu.strategy_c1");
    if (mlir::failed(machine)) return signalPassFailure();
    Strategist strategist(*machine);
    for (graph::FuncOp func : funcs) {
      if (mlir::failed(strategist.run(func))) return signalPassFailure();
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> createNpuStrategyPass() { return std::make_unique<StrategyPass>(); }

}  // namespace firn::passes
