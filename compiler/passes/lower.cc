// Phase "lower": task_passes.h.
#include "blob/kv_part.h"
#include "blob/names.h"
#include "compiler/passes/task_passes.h"
#include "compiler/target/entry_lowering.h"
#include "compiler/target/targets.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {
namespace {

class LowerPass : public mlir::PassWrapper<LowerPass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerPass)

  LowerPass() = default;
  LowerPass(const LowerPass& other) : PassWrapper(other) {}
  explicit LowerPass(const LowerOptions& options) {
    lanes_ = options.lanes;
    maxPrompt_ = options.maxPromptTokens;
    minResponse_ = options.minResponseTokens;
    attentionInputPlanes_ = options.attentionInputPlanes;
    headPlanes_ = options.headPlanes;
    otherPlanes_ = options.otherPlanes;
    if (options.kvType) kvType_ = task::dtypeName(*options.kvType).str();
  }

  llvm::StringRef getArgument() const final { return "task-lower"; }
  llvm::StringRef getDescription() const final { return "Graph ops to tasks on lanes"; }
  void getDependentDialects(mlir::DialectRegistry& registry) const final { registry.insert<task::TaskDialect>(); }

  void runOnOperation() final {
    mlir::ModuleOp module = getOperation();
    const target::Target* target = targetOf(module);
    if (target == nullptr) return signalPassFailure();
    target::ProgramShape shape;
    if (mlir::failed(describe(module, *target, shape))) return signalPassFailure();
    target::LoweringChoices choices = {attentionInputPlanes_, headPlanes_, otherPlanes_};
    if (mlir::failed(target::lowerModule(module, *target, shape, choices))) return signalPassFailure();
    for (mlir::Operation& op : llvm::make_early_inc_range(*module.getBody())) {
      if (!llvm::isa<task::ProgramOp>(op)) op.erase();
    }
  }

 private:
  static const target::Target* targetOf(mlir::ModuleOp module) {
    llvm::StringRef device;
    for (auto func : module.getOps<graph::FuncOp>()) {
      auto attr = func->getAttrOfType<mlir::StringAttr>(graph::kDeviceAttr);
      if (!attr || (!device.empty() && attr.getValue() != device)) {
        func.emitOpError() << "task.lower_c1: is on " << (attr ? attr.getValue() : "no device") << ", expected "
                           << (device.empty() ? "a device for every function" : device);
        return nullptr;
      }
      device = attr.getValue();
    }
    const target::Target* target = target::findTarget(device);
    if (target == nullptr) module.emitError() << "task.lower_c1: found no function on one of: " << blob::targetNames();
    return target;
  }

  /// T, from the caches of the entries; 0 when no entry has one.
  static int64_t cacheRows(mlir::ModuleOp module) {
    for (auto func : module.getOps<graph::FuncOp>()) {
      if (!graph::entryOf(func)) continue;
      for (mlir::Type type : func.getArgumentTypes()) {
        auto tensor = llvm::cast<mlir::RankedTensorType>(type);
        if (tensor.getRank() >= 3) return graph::cacheDims(tensor)[1];
      }
    }
    return 0;
  }

  mlir::LogicalResult describe(mlir::ModuleOp module, const target::Target& target, target::ProgramShape& shape) {
    std::optional<graph::ModelCard> card = graph::modelCard(module);
    if (!card) return module.emitError() << "task.lower_c1: the module has no complete " << graph::kModelAttr;
    shape.target = target.name().str();
    shape.lanes = target.lanes(lanes_);
    std::optional<DType> kvType = kvType_.empty() ? target.kvType : blob::kvTypeFromName(kvType_.getValue());
    if (!kvType) {
      return module.emitError() << "task.lower_c2: the KV type is '" << kvType_ << "', expected one of "
                                << blob::kvTypeNames();
    }
    shape.kvType = *kvType;
    shape.kvRows = cacheRows(module);
    shape.card = *card;
    bool given = maxPrompt_ != 0 || minResponse_ != 0;
    shape.maxPromptTokens = given ? maxPrompt_.getValue() : shape.kvRows;
    shape.minResponseTokens = minResponse_;
    if (shape.kvRows < 1 || shape.maxPromptTokens + shape.minResponseTokens != shape.kvRows) {
      return module.emitError() << "task.lower_c2: the caches have " << shape.kvRows
                                << " rows, expected max-prompt + min-response = " << shape.maxPromptTokens << " + "
                                << shape.minResponseTokens;
    }
    if (shape.lanes < 1) return module.emitError() << "task.lower_c2: found " << shape.lanes << " lanes, expected >= 1";
    return mlir::success();
  }

  Option<int64_t> lanes_{*this, "lanes", llvm::cl::desc("lanes, where the target leaves the choice"),
                         llvm::cl::init(1)};
  Option<int64_t> maxPrompt_{*this, "max-prompt", llvm::cl::desc("prompt tokens"), llvm::cl::init(0)};
  Option<int64_t> minResponse_{*this, "min-response", llvm::cl::desc("response tokens"), llvm::cl::init(0)};
  Option<int64_t> attentionInputPlanes_{*this, "attention-planes", llvm::cl::desc("int8 planes of q, k, v inputs"),
                                        llvm::cl::init(2)};
  Option<int64_t> headPlanes_{*this, "head-planes", llvm::cl::desc("int8 planes of head inputs"), llvm::cl::init(2)};
  Option<std::string> kvType_{*this, "kv-type", llvm::cl::desc("element type of the KV cache"), llvm::cl::init("")};
  Option<int64_t> otherPlanes_{*this, "other-planes", llvm::cl::desc("int8 planes of other inputs"), llvm::cl::init(1)};
};

}  // namespace

std::unique_ptr<mlir::Pass> createLowerPass(const LowerOptions& options) {
  return std::make_unique<LowerPass>(options);
}

}  // namespace firn::passes
