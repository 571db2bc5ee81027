// Phase "lower": task_passes.h.
#include "blob/kv_part.h"
#include "blob/names.h"
#include "compiler/passes/npu/machine_of.h"
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
    llvm::SmallVector<const target::Target*> targets;
    if (mlir::failed(findTargets(module, targets))) return signalPassFailure();
    std::optional<DType> kvType = kvTypeOf(targets);
    if (!kvType) {
      module.emitError() << "task.lower_c2: the KV type is '" << kvType_ << "', expected one of "
                         << blob::kvTypeNames();
      return signalPassFailure();
    }
    std::optional<machine::Machine> machine;
    if (llvm::any_of(targets, [](const target::Target* target) { return target->needsMachine; })) {
      auto read = machineOf(module, graph::kMachineAttr, "task.lower_c3");
      if (mlir::failed(read)) return signalPassFailure();
      machine = *std::move(read);
    }
    target::LoweringChoices choices = {machine ? &*machine : nullptr, attentionInputPlanes_, headPlanes_, otherPlanes_};
    for (const target::Target* target : targets) {
      target::ProgramShape shape;
      shape.lanes = lanes_;
      shape.kvType = *kvType;
      if (mlir::failed(describe(module, *target, shape))) return signalPassFailure();
      if (target->needsMachine)
        shape.machine = module->getAttrOfType<mlir::StringAttr>(graph::kMachineAttr).getValue().str();
      if (mlir::failed(target::lowerModule(module, *target, shape, choices))) return signalPassFailure();
    }
    for (mlir::Operation& op : llvm::make_early_inc_range(*module.getBody())) {
      if (!llvm::isa<task::ProgramOp>(op)) op.erase();
    }
  }

 private:
  /// The targets that functions are on.
  static mlir::LogicalResult findTargets(mlir::ModuleOp module, llvm::SmallVector<const target::Target*>& targets) {
    for (auto func : module.getOps<graph::FuncOp>()) {
      const target::Target* target = target::targetOf(func);
      if (target == nullptr) {
        auto device = func->getAttrOfType<mlir::StringAttr>(graph::kDeviceAttr);
        return func.emitOpError() << "task.lower_c1: is on " << (device ? device.getValue() : "no device")
                                  << ", expected one of: " << blob::targetNames();
      }
      if (!llvm::is_contained(targets, target)) targets.push_back(target);
    }
    if (!targets.empty()) return mlir::success();
    return module.emitError() << "task.lower_c1: found no function on one of: " << blob::targetNames();
  }

  /// The type that the user names, or that all targets would choose, or one that all of them can use.
  std::optional<DType> kvTypeOf(llvm::ArrayRef<const target::Target*> targets) const {
    if (!kvType_.empty()) return blob::kvTypeFromName(kvType_.getValue());
    for (const target::Target* target : targets) {
      if (target->hasOneKvType) return target->kvType;
    }
    DType kvType = targets.front()->kvType;
    for (const target::Target* target : targets) kvType = target->kvType == kvType ? kvType : DType::kF32;
    return kvType;
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

  Option<int64_t> lanes_{*this, "lanes", llvm::cl::desc("lanes of every program"), llvm::cl::init(1)};
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
