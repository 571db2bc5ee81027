// Phase "place": passes.h. The support table below is what each target's lowering implements.
#include <set>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/passes/passes.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {
namespace {

using graph::FuncOp;

/// Why a target cannot run `op`; empty when it can.
using SupportCheck = std::string (*)(mlir::Operation* op);

std::string referenceSupport(mlir::Operation* op) {
  if (llvm::isa<graph::StateReadOp, graph::StateWriteOp>(op)) return "state is gone after the phase stateless";
  if (llvm::isa<graph::SelectRowsOp>(op)) return "no entry has row numbers among its inputs";
  return {};
}

/// True when `op` is the activation of a gate that is then multiplied: the cpu has one kernel for both.
bool isGate(mlir::Operation* op) {
  auto gelu = llvm::dyn_cast_or_null<graph::GeluOp>(op);
  if (!llvm::isa_and_nonnull<graph::SiluOp>(op) && !(gelu && gelu.getTanh())) return false;
  if (!op->hasOneUse()) return false;
  auto mul = llvm::dyn_cast<graph::MulOp>(*op->getUsers().begin());
  return mul && mul.getLhs() == op->getResult(0);
}

std::string cpuSupport(mlir::Operation* op) {
  if (llvm::isa<graph::EmbedOp, graph::HeadOp, graph::LinearOp, graph::RmsNormOp, graph::RopeOp, graph::CacheUpdateOp,
                graph::AttentionOp, graph::AddOp>(op)) {
    return {};
  }
  if (llvm::isa<graph::SiluOp>(op)) return isGate(op) ? "" : "it has silu only as silu(gate) * up";
  if (llvm::isa<graph::GeluOp>(op)) return isGate(op) ? "" : "it has gelu only in the tanh form, as gelu(gate) * up";
  if (auto mul = llvm::dyn_cast<graph::MulOp>(op)) {
    return isGate(mul.getLhs().getDefiningOp()) ? "" : "it has mul only as silu(gate) * up or gelu(gate) * up";
  }
  if (auto scale = llvm::dyn_cast<graph::ScaleOp>(op)) {
    const bool isOfRows = scale.getInput().hasOneUse() && scale.getInput().getDefiningOp<graph::EmbedOp>();
    return isOfRows ? "" : "it has scale only of the rows of an embedding";
  }
  return "it has no kernel for it";
}

struct TargetSupport {
  llvm::StringLiteral name;
  SupportCheck check;
};
constexpr TargetSupport kTargets[] = {{"cpu", cpuSupport}, {"reference", referenceSupport}};

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

std::string otherTargets(mlir::Operation* op) {
  std::string names;
  for (const TargetSupport& target : kTargets) {
    if (!target.check(op).empty()) continue;
    names += (names.empty() ? "" : ", ") + target.name.str();
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
    const TargetSupport* support =
        llvm::find_if(kTargets, [&](const TargetSupport& candidate) { return candidate.name == target_.getValue(); });
    if (support == std::end(kTargets)) {
      getOperation().emitError() << "graph.place_c1: found target \"" << target_.getValue()
                                 << "\", expected cpu or reference";
      return signalPassFailure();
    }
    const auto layers = firstLayers(getOperation());
    for (auto func : getOperation().getOps<FuncOp>()) {
      if (mlir::failed(place(func, *support, layers))) return signalPassFailure();
    }
  }

 private:
  mlir::LogicalResult place(FuncOp func, const TargetSupport& support,
                            const llvm::DenseMap<mlir::Attribute, int64_t>& layers) {
    std::set<std::string> kinds;
    for (mlir::Operation& op : func.getBody().front()) {
      if (!isTensorOp(&op)) continue;
      kinds.insert(op.getName().stripDialect().str());
      const std::string whyNot = support.check(&op);
      if (whyNot.empty()) continue;
      auto layer = layers.find(func.getSymNameAttr());
      const std::string where =
          layer == layers.end() ? "outside the layers" : "in layer " + std::to_string(layer->second);
      return op.emitOpError() << "graph.place_c2: target " << support.name << " cannot run " << op.getName() << " "
                              << where << " (@" << func.getSymName() << "): " << whyNot
                              << "; targets that can: " << otherTargets(&op);
    }
    mlir::Builder builder(func.getContext());
    const std::string reason = "target " + support.name.str() + " has a kernel for each op here: " +
                               (kinds.empty() ? "none of its own, only calls" : llvm::join(kinds, ", "));
    func->setAttr(graph::kDeviceAttr, builder.getStringAttr(support.name));
    func->setAttr(graph::kReasonAttr, builder.getStringAttr(reason));
    return mlir::success();
  }

  Option<std::string> target_{*this, "target", llvm::cl::desc("cpu or reference"), llvm::cl::init("cpu")};
};

}  // namespace

std::unique_ptr<mlir::Pass> createPlacePass(const PlaceOptions& options) {
  return std::make_unique<PlacePass>(options);
}

}  // namespace firn::passes
