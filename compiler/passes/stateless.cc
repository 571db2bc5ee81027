// Phase "stateless": passes.h.
#include "compiler/ir/graph.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/residual.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {
namespace {

using graph::FuncOp;

/// What is known of one state while the ops are walked in order.
struct StateValue {
  mlir::Value current;
  bool isWritten = false;
};
using States = llvm::MapVector<mlir::StringAttr, StateValue>;

/// The arguments that every op of the stateless program may need.
struct StepArguments {
  mlir::Value valid, row0, mask;
};

StepArguments appendArguments(FuncOp func, States& states) {
  mlir::Builder builder(func.getContext());
  auto number = mlir::RankedTensorType::get({}, builder.getI32Type());
  auto mask = mlir::RankedTensorType::get({mlir::ShapedType::kDynamic}, builder.getI8Type());
  llvm::SmallVector<mlir::Attribute> names(func.getArgNames().getValue());
  mlir::Block& block = func.getBody().front();
  auto append = [&](llvm::StringRef name, mlir::Type type) {
    names.push_back(builder.getStringAttr(name));
    return block.addArgument(type, func.getLoc());
  };
  StepArguments arguments;
  arguments.valid = append(graph::kValidArg, number);
  arguments.row0 = append(graph::kRow0Arg, number);
  arguments.mask = append(graph::kMaskArg, mask);
  for (auto state : func->getParentOfType<mlir::ModuleOp>().getOps<graph::StateOp>()) {
    states[state.getSymNameAttr()] = {append(state.getSymName(), state.getType())};
  }
  func.setArgNamesAttr(builder.getArrayAttr(names));
  return arguments;
}

mlir::LogicalResult replaceWrite(graph::StateWriteOp write, States& states, const StepArguments& step) {
  StateValue& state = states[write.getStateAttr().getAttr()];
  if (state.isWritten) {
    return write.emitOpError() << "graph.stateless_c2: " << write.getStateAttr()
                               << " is written twice, expected one write a step";
  }
  mlir::OpBuilder builder(write);
  state.current = builder.create<graph::CacheUpdateOp>(write.getLoc(), state.current.getType(), state.current,
                                                       write.getInput(), step.row0, step.valid, write.getHeads());
  state.isWritten = true;
  write.erase();
  return mlir::success();
}

mlir::LogicalResult replaceRead(graph::StateReadOp read, States& states) {
  StateValue& state = states[read.getStateAttr().getAttr()];
  if (!state.isWritten) {
    return read.emitOpError() << "graph.stateless_c3: " << read.getStateAttr()
                              << " is read before the rows of this step are written to it";
  }
  read.replaceAllUsesWith(state.current);
  read.erase();
  return mlir::success();
}

mlir::LogicalResult makeStateless(FuncOp func) {
  States states;
  const StepArguments step = appendArguments(func, states);
  for (mlir::Operation& op : llvm::make_early_inc_range(func.getBody().front())) {
    if (auto write = llvm::dyn_cast<graph::StateWriteOp>(op)) {
      if (mlir::failed(replaceWrite(write, states, step))) return mlir::failure();
    } else if (auto read = llvm::dyn_cast<graph::StateReadOp>(op)) {
      if (mlir::failed(replaceRead(read, states))) return mlir::failure();
    } else if (auto attention = llvm::dyn_cast<graph::AttentionOp>(op)) {
      attention.getMaskMutable().assign(step.mask);
      attention.getRow0Mutable().assign(step.row0);
    } else if (auto terminator = llvm::dyn_cast<graph::ReturnOp>(op)) {
      for (auto& [name, state] : states) terminator.getValuesMutable().append(state.current);
      func.setFunctionType(mlir::FunctionType::get(func.getContext(), func.getBody().front().getArgumentTypes(),
                                                   terminator.getOperandTypes()));
    }
  }
  return mlir::success();
}

class StatelessPass : public mlir::PassWrapper<StatelessPass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StatelessPass)

  llvm::StringRef getArgument() const final { return "graph-stateless"; }
  llvm::StringRef getDescription() const final { return "State reads and writes become arguments and results"; }

  void runOnOperation() final {
    FuncOp model = findModel(getOperation());
    if (!model) {
      getOperation().emitError("graph.stateless_c1: expected exactly one graph.func, named @model");
      return signalPassFailure();
    }
    if (model.findArgument(graph::kMaskArg)) {
      model.emitOpError("graph.stateless_c1: @model has a mask argument, expected a stateful model");
      return signalPassFailure();
    }
    if (mlir::failed(makeStateless(model))) return signalPassFailure();
    for (auto state : llvm::make_early_inc_range(getOperation().getOps<graph::StateOp>())) state.erase();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> createStatelessPass() { return std::make_unique<StatelessPass>(); }

}  // namespace firn::passes
