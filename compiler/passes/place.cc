// Phase "place": passes.h.
#include <set>
#include <string>

#include "blob/names.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/passes.h"
#include "compiler/target/targets.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {
namespace {

using graph::FuncOp;

bool isTensorOp(mlir::Operation* op) { return !llvm::isa<graph::ParamOp, graph::CallOp, graph::ReturnOp>(op); }

/// The first layer that calls each body.
llvm::DenseMap<mlir::Attribute, int64_t> firstLayers(mlir::ModuleOp module) {
  llvm::DenseMap<mlir::Attribute, int64_t> layers;
  module.walk([&](graph::CallOp call) {
    auto [entry, isNew] = layers.try_emplace(call.getCalleeAttr().getAttr(), call.getLayer());
    if (!isNew) entry->second = std::min<int64_t>(entry->second, call.getLayer());
  });
  return layers;
}

/// The targets that can run `op`, for messages.
std::string capableTargets(mlir::Operation* op) {
  std::string names;
  for (const target::Target* target : target::allTargets()) {
    if (target->whyNot(op).empty()) names += (names.empty() ? "" : ", ") + target->name().str();
  }
  return names.empty() ? "none" : names;
}

class PlacePass : public mlir::PassWrapper<PlacePass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlacePass)

  PlacePass() = default;
  PlacePass(const PlacePass& other) : PassWrapper(other) {}
  explicit PlacePass(const PlaceOptions& options) { target_ = options.target; }

  llvm::StringRef getArgument() const final { return "graph-place"; }
  llvm::StringRef getDescription() const final { return "Each function to a device, with the reason"; }

  void runOnOperation() final {
    const target::Target* target = target::findTarget(target_);
    if (target == nullptr) {
      getOperation().emitError() << "graph.place_c1: found target \"" << target_.getValue()
                                 << "\", expected one of: " << blob::targetNames();
      return signalPassFailure();
    }
    const auto layers = firstLayers(getOperation());
    for (auto func : getOperation().getOps<FuncOp>()) {
      if (mlir::failed(place(func, *target, layers))) return signalPassFailure();
    }
  }

 private:
  mlir::LogicalResult place(FuncOp func, const target::Target& target,
                            const llvm::DenseMap<mlir::Attribute, int64_t>& layers) {
    std::set<std::string> kinds;
    for (mlir::Operation& op : func.getBody().front()) {
      if (!isTensorOp(&op)) continue;
      kinds.insert(op.getName().stripDialect().str());
      const std::string whyNot = target.whyNot(&op);
      if (whyNot.empty()) continue;
      auto layer = layers.find(func.getSymNameAttr());
      const std::string where =
          layer == layers.end() ? "outside the layers" : "in layer " + std::to_string(layer->second);
      return op.emitOpError() << "graph.place_c2: target " << target.name() << " cannot run " << op.getName() << " "
                              << where << " (@" << func.getSymName() << "): " << whyNot
                              << "; targets that can: " << capableTargets(&op);
    }
    mlir::Builder builder(func.getContext());
    const std::string reason = "target " + target.name().str() + " has a kernel for each op here: " +
                               (kinds.empty() ? "none of its own, only calls" : llvm::join(kinds, ", "));
    func->setAttr(graph::kDeviceAttr, builder.getStringAttr(target.name()));
    func->setAttr(graph::kReasonAttr, builder.getStringAttr(reason));
    return mlir::success();
  }

  Option<std::string> target_{*this, "target", llvm::cl::desc("name of a target"), llvm::cl::init("cpu")};
};

}  // namespace

std::unique_ptr<mlir::Pass> createPlacePass(const PlaceOptions& options) {
  return std::make_unique<PlacePass>(options);
}

}  // namespace firn::passes
