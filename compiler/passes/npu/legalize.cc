// Phase "legalize": npu/passes.h. A body is cut around its attention, so that what depends on the context is by itself:
// the rest is shared by all contexts, and the blob grows by an attention for each.
#include <map>

#include "compiler/ir/graph.h"
#include "compiler/passes/npu/machine_of.h"
#include "compiler/passes/npu/passes.h"
#include "compiler/passes/with_dim.h"
#include "compiler/target/npu/machine_files.h"
#include "compiler/target/npu/npu_body.h"
#include "compiler/target/targets.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {
namespace {

using graph::FuncOp;
using mlir::Operation;
using mlir::Value;

bool isMatrix(Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()).getRank() == 2; }

/// A run of the ops of a body, as a function of its own.
struct Piece {
  FuncOp func;
  llvm::SmallVector<Value> inputs;   ///< in the body that was cut
  llvm::SmallVector<Value> outputs;  ///< the same
};

/// The three functions that a body becomes.
struct Pieces {
  Piece before;
  std::map<int64_t, Piece> attention;  ///< by context
  Piece after;
  llvm::SmallVector<Operation*> attentionOps;
};

class Legalizer {
 public:
  explicit Legalizer(mlir::ModuleOp module) : module_(module) {}

  mlir::LogicalResult run() {
    llvm::SmallVector<FuncOp> entries;
    for (auto func : module_.getOps<FuncOp>()) {
      if (graph::entryOf(func) && target::needsMachine(func)) entries.push_back(func);
    }
    for (FuncOp entry : entries) {
      for (auto call : llvm::make_early_inc_range(entry.getBody().front().getOps<graph::CallOp>())) {
        if (mlir::failed(cutCall(call))) return mlir::failure();
      }
    }
    for (auto& [name, pieces] : pieces_) {
      auto body = tables_.lookupSymbolIn<FuncOp>(module_, mlir::StringAttr::get(module_.getContext(), name));
      unused_.push_back(body);
    }
    for (FuncOp body : unused_) body.erase();
    return mlir::success();
  }

 private:
  mlir::LogicalResult cutCall(graph::CallOp call) {
    auto body = tables_.lookupSymbolIn<FuncOp>(module_, call.getCalleeAttr().getAttr());
    auto [known, isNew] = pieces_.try_emplace(body.getSymName().str());
    Pieces& pieces = known->second;
    if (isNew && mlir::failed(cutBody(body, pieces))) return mlir::failure();
    Piece& attention = attentionOf(call, body, pieces);
    mlir::OpBuilder builder(call);
    llvm::DenseMap<Value, Value> actual;  // of the values of the body
    for (auto [argument, value] : llvm::zip(body.getBody().getArguments(), call.getArgs())) actual[argument] = value;
    for (Piece* piece : {&pieces.before, &attention, &pieces.after}) {
      llvm::SmallVector<Value> args;
      for (Value input : piece->inputs) args.push_back(actual.lookup(input));
      auto one = builder.create<graph::CallOp>(call.getLoc(), piece->func.getResultTypes(),
                                               mlir::FlatSymbolRefAttr::get(piece->func.getSymNameAttr()), args,
                                               bindOf(piece->func, call), call.getLayerAttr());
      for (auto [output, result] : llvm::zip(piece->outputs, one.getResults())) actual[output] = result;
    }
    auto ret = llvm::cast<graph::ReturnOp>(body.getBody().front().getTerminator());
    for (auto [result, value] : llvm::zip(call.getResults(), ret.getValues())) {
      result.replaceAllUsesWith(actual.lookup(value));
    }
    call.erase();
    return mlir::success();
  }

  /// The bindings of the call that the params of `func` need.
  static mlir::DictionaryAttr bindOf(FuncOp func, graph::CallOp call) {
    llvm::SmallVector<mlir::NamedAttribute> bind;
    for (auto param : func.getBody().getOps<graph::ParamOp>()) {
      bind.push_back({param.getSymNameAttr(), call.getBind().get(param.getSymName())});
    }
    return mlir::DictionaryAttr::get(call.getContext(), bind);
  }

  mlir::LogicalResult cutBody(FuncOp body, Pieces& pieces) {
    auto attentions = llvm::to_vector(body.getBody().getOps<graph::AttentionOp>());
    if (attentions.size() != 1) {
      return body.emitOpError() << "npu.legalize_c1: found " << attentions.size()
                                << " attentions in a layer, expected 1";
    }
    llvm::SmallVector<Operation*> before;
    llvm::SmallVector<Operation*> after;
    bool isBehind = false;
    for (Operation& op : body.getBody().front().without_terminator()) {
      if (llvm::isa<graph::ParamOp>(op)) continue;
      isBehind = isBehind || &op == attentions.front();
      if (&op != attentions.front()) (isBehind ? after : before).push_back(&op);
    }
    pieces.attentionOps = {attentions.front()};
    pieces.before = makePiece(body, before, "in", {});
    pieces.after = makePiece(body, after, "out", {});
    return mlir::success();
  }

  Piece& attentionOf(graph::CallOp call, FuncOp body, Pieces& pieces) {
    int64_t context = 0;
    for (auto [argument, value] : llvm::zip(body.getBody().getArguments(), call.getArgs())) {
      if (body.argumentName(argument.getArgNumber()) == graph::kMaskArg) {
        context = llvm::cast<mlir::RankedTensorType>(value.getType()).getShape().back();
      }
    }
    auto [piece, isNew] = pieces.attention.try_emplace(context);
    if (isNew) {
      piece->second = makePiece(body, pieces.attentionOps, "attention." + std::to_string(context), context);
    }
    return piece->second;
  }

  Piece makePiece(FuncOp body, llvm::ArrayRef<Operation*> ops, const std::string& role,
                  std::optional<int64_t> context) {
    Piece piece = bordersOf(ops);
    mlir::OpBuilder builder(body);
    llvm::SmallVector<mlir::Type> inputTypes;
    llvm::SmallVector<std::string> names;
    for (Value input : piece.inputs) {
      auto argument = llvm::dyn_cast<mlir::BlockArgument>(input);
      names.push_back(argument ? body.argumentName(argument.getArgNumber()).str() : nameOf(input, names.size()));
      const bool isMask = argument && names.back() == graph::kMaskArg && context;
      inputTypes.push_back(isMask ? withDim(input.getType(), -1, *context) : input.getType());
    }
    llvm::SmallVector<llvm::StringRef> nameRefs(names.begin(), names.end());
    piece.func =
        builder.create<FuncOp>(body.getLoc(), (body.getSymName() + "." + role).str(),
                               builder.getFunctionType(inputTypes, mlir::ValueRange(piece.outputs).getTypes()),
                               builder.getStringAttr("private"),
                               /*arg_attrs=*/nullptr, /*res_attrs=*/nullptr, builder.getStrArrayAttr(nameRefs));
    for (llvm::StringRef name : {graph::kDeviceAttr, graph::kReasonAttr}) {
      if (mlir::Attribute value = body->getAttr(name)) piece.func->setAttr(name, value);
    }
    fill(piece, body, ops, inputTypes);
    return piece;
  }

  /// What the ops take from around them, in the order of use, and what is used of them elsewhere.
  static Piece bordersOf(llvm::ArrayRef<Operation*> ops) {
    Piece piece;
    const llvm::SmallPtrSet<Operation*, 32> inside(ops.begin(), ops.end());
    for (Operation* op : ops) {
      for (Value operand : op->getOperands()) {
        const bool isOwn = operand.getDefiningOp() != nullptr && inside.contains(operand.getDefiningOp());
        if (!isOwn && !llvm::is_contained(piece.inputs, operand)) piece.inputs.push_back(operand);
      }
      for (Value result : op->getResults()) {
        if (llvm::any_of(result.getUsers(), [&](Operation* user) { return !inside.contains(user); })) {
          piece.outputs.push_back(result);
        }
      }
    }
    return piece;
  }

  void fill(Piece& piece, FuncOp body, llvm::ArrayRef<Operation*> ops, llvm::ArrayRef<mlir::Type> inputTypes) {
    mlir::OpBuilder builder(module_.getContext());
    mlir::Block* block = builder.createBlock(&piece.func.getBody());
    mlir::IRMapping mapping;
    for (auto [input, type] : llvm::zip(piece.inputs, inputTypes)) {
      mapping.map(input, block->addArgument(type, body.getLoc()));
    }
    for (auto param : body.getBody().getOps<graph::ParamOp>()) {
      if (llvm::any_of(ops, [&](Operation* op) { return names(op, param.getSymName()); })) builder.clone(*param);
    }
    for (Operation* op : ops) builder.clone(*op, mapping);
    llvm::SmallVector<Value> results;
    llvm::SmallVector<mlir::Attribute> crossings;
    bool isLast = false;
    for (Value output : piece.outputs) {
      results.push_back(mapping.lookup(output));
      auto isReturn = [](Operation* user) { return llvm::isa<graph::ReturnOp>(user); };
      if (!isMatrix(output)) continue;
      isLast = isLast || llvm::any_of(output.getUsers(), isReturn);
      crossings.push_back(builder.getStringAttr(crossingName(output, crossings.size())));
    }
    builder.create<graph::ReturnOp>(body.getLoc(), results);
    if (!isLast && !crossings.empty()) piece.func->setAttr(graph::kCrossingsAttr, builder.getArrayAttr(crossings));
  }

  /// Of an argument that takes what another piece of the body returns.
  static std::string nameOf(Value input, size_t index) {
    return isMatrix(input) ? crossingName(input, index) : "v" + std::to_string(index);
  }

  /// Of a matrix that another piece of the body takes.
  static std::string crossingName(Value output, size_t index) {
    Operation* maker = output.getDefiningOp();
    const auto takesHalf = [](Operation* user) { return llvm::isa<graph::AttentionOp, graph::LinearOp>(user); };
    const bool isHalf = llvm::isa<graph::AttentionOp>(maker) ||
                        (target::npu::canWriteHalf(maker) && llvm::all_of(output.getUsers(), takesHalf));
    return (isHalf ? graph::kHalfCrossing.str() : "") + output.getDefiningOp()->getName().stripDialect().str() +
           std::to_string(index);
  }

  static bool names(Operation* op, llvm::StringRef symbol) {
    return llvm::any_of(op->getAttrs(), [&](mlir::NamedAttribute attribute) {
      auto ref = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(attribute.getValue());
      return ref && ref.getValue() == symbol;
    });
  }

  mlir::ModuleOp module_;
  mlir::SymbolTableCollection tables_;  // of the functions before this pass: only bodies are looked up
  std::map<std::string, Pieces> pieces_;
  llvm::SmallVector<FuncOp> unused_;
};

class LegalizePass : public mlir::PassWrapper<LegalizePass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LegalizePass)

  LegalizePass() = default;
  LegalizePass(const LegalizePass& other) : PassWrapper(other) {}

  llvm::StringRef getArgument() const final { return "npu-legalize"; }
  llvm::StringRef getDescription() const final { return "Bodies on the npu are cut around their attention"; }

  void runOnOperation() final {
    mlir::ModuleOp module = getOperation();
    if (llvm::none_of(module.getOps<FuncOp>(), [](FuncOp func) { return target::needsMachine(func); })) return;
    if (mlir::failed(nameMachine(module)) || mlir::failed(Legalizer(module).run())) signalPassFailure();
  }

 private:
  /// The machine that the module names already, or the option does.
  mlir::LogicalResult nameMachine(mlir::ModuleOp module) {
    if (!module->hasAttr(graph::kMachineAttr)) {
      const Result<std::string> text = npu::machineText(machine_.getValue());
      if (!text) return module.emitError() << "npu.legalize_c2: " << text.status().message();
      module->setAttr(graph::kMachineAttr, mlir::StringAttr::get(module.getContext(), *text));
    }
    return machineOf(module, graph::kMachineAttr, "npu.legalize_c2");
  }

  Option<std::string> machine_{*this, "machine",
                               llvm::cl::desc("name or path of a machine file, where the module has none"),
                               llvm::cl::init("")};
};

}  // namespace

std::unique_ptr<mlir::Pass> createNpuLegalizePass() { return std::make_unique<LegalizePass>(); }

}  // namespace firn::passes
