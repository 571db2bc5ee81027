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

using target::npu::LinearShape;
using target::npu::LinearTiling;

class Strategist {
 public:
  explicit Strategist(const machine::Machine& machine) : machine_(machine) {}

  mlir::LogicalResult run(graph::FuncOp func) {
    for (mlir::Operation& op : func.getBody().front()) {
      if (!target::npu::isLinearLayer(&op) || !target::npu::leadsGroup(&op)) continue;
      auto shape = target::npu::shapeOf(target::npu::fusedGroupOf(&op), tables_);
      if (mlir::failed(shape)) return mlir::failure();
      const Result<LinearTiling>& tiling = tilingOf(*shape);
      if (!tiling) return op.emitOpError() << "npu.strategy_c2: " << tiling.status().message();
      op.setAttr(graph::kTilingAttr, target::npu::tilingAttr(op.getContext(), *tiling));
    }
    return mlir::success();
  }

 private:
  /// Layers that look alike are cut alike, so each signature is searched once.
  const Result<LinearTiling>& tilingOf(const LinearShape& shape) {
    auto known = tilings_.find(shape);
    if (known == tilings_.end()) {
      known = tilings_.emplace(shape, target::npu::chooseTiling(machine_, shape)).first;
    }
    return known->second;
  }

  const machine::Machine& machine_;
  mlir::SymbolTableCollection tables_;
  std::map<LinearShape, Result<LinearTiling>> tilings_;
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
