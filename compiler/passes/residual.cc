#include "compiler/passes/residual.h"

#include "mlir/IR/BuiltinOps.h"

namespace firn::passes {

mlir::Value hiddenBehindLogits(graph::FuncOp func) {
  auto terminator = llvm::cast<graph::ReturnOp>(func.getBody().front().getTerminator());
  if (terminator.getNumOperands() == 0) return nullptr;
  bool sawHead = false;
  mlir::Value value = terminator.getOperand(0);
  while (mlir::Operation* op = value.getDefiningOp()) {
    if (op->getNumOperands() != 1) return nullptr;
    value = op->getOperand(0);
    if (llvm::isa<graph::HeadOp>(op)) {
      sawHead = true;
    } else if (llvm::isa<graph::RmsNormOp, graph::LayerNormOp>(op)) {
      return sawHead ? value : nullptr;
    }
  }
  return nullptr;
}

graph::FuncOp findModel(mlir::Operation* module) {
  auto functions = llvm::cast<mlir::ModuleOp>(module).getOps<graph::FuncOp>();
  if (!llvm::hasSingleElement(functions)) return nullptr;
  graph::FuncOp func = *functions.begin();
  return func.getSymName() == "model" && !graph::entryOf(func) ? func : nullptr;
}

}  // namespace firn::passes
