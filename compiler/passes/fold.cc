// Phase "fold": passes.h. layers.h finds the layers; here each becomes a call of a body that equal layers share.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/passes/layers.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/residual.h"
#include "compiler/passes/with_dim.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {
namespace {

using graph::FuncOp;
using mlir::Operation;
using mlir::Value;

/// A layer with all that crosses its border.
struct Layer {
  llvm::SmallVector<Operation*> ops;
  llvm::SmallVector<Value> inputs;  ///< the residual stream, then function arguments in their order
  llvm::SmallVector<std::string> inputNames;
  llvm::SmallVector<Value> outputs;                    ///< the residual stream, then new caches in the order of use
  llvm::SmallVector<mlir::FlatSymbolRefAttr> weights;  ///< distinct, in the order of first use
  int64_t number = 0;
};

/// What must be equal for two layers to share a body: op names, operands by number, attributes, types, weight types.
/// Names, types and attributes are unique in a context, so their addresses stand for them.
using Signature = std::vector<const void*>;

const void* asKey(size_t number) { return reinterpret_cast<const void*>(number); }

/// "kv.k.7" is called "k" in a body, so that all layers agree; other names stay.
std::string formalArgument(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> parts;
  name.split(parts, '.');
  uint64_t layer = 0;
  const bool isCache = parts.size() == 3 && parts[0] == "kv" && !parts[2].getAsInteger(10, layer);
  return (isCache ? parts[1] : name).str();
}

/// "blk.7.attn_q.bias" is called "attn_q.bias" in layer 7; other names stay.
std::string formalWeight(llvm::StringRef symbol, int64_t layer) {
  const std::string marker = "." + std::to_string(layer) + ".";
  const size_t at = symbol.find(marker);
  return (at == llvm::StringRef::npos ? symbol : symbol.substr(at + marker.size())).str();
}

/// `name`, or `name`_2, _3, ... when it is taken.
std::string distinct(std::string name, llvm::ArrayRef<std::string> taken) {
  std::string candidate = name;
  for (int i = 2; llvm::is_contained(taken, candidate); ++i) candidate = name + "_" + std::to_string(i);
  return candidate;
}

Layer describe(FuncOp entry, const LayerSpan& span, int64_t number) {
  Layer layer;
  layer.number = number;
  for (Operation* op = span.first; op != span.last->getNextNode(); op = op->getNextNode()) layer.ops.push_back(op);
  const llvm::SmallPtrSet<Operation*, 32> inside(layer.ops.begin(), layer.ops.end());
  layer.inputs.push_back(span.input);
  layer.inputNames.push_back("x");
  layer.outputs.push_back(span.output);
  std::set<unsigned> arguments;
  for (Operation* op : layer.ops) {
    for (Value operand : op->getOperands()) {
      if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(operand)) arguments.insert(argument.getArgNumber());
    }
    for (Value result : op->getResults()) {
      const bool leaves = llvm::any_of(result.getUsers(), [&](Operation* user) { return !inside.contains(user); });
      if (leaves && result != span.output) layer.outputs.push_back(result);
    }
    for (mlir::NamedAttribute attribute : op->getAttrs()) {
      auto symbol = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(attribute.getValue());
      if (symbol && !llvm::is_contained(layer.weights, symbol)) layer.weights.push_back(symbol);
    }
  }
  for (unsigned index : arguments) {
    layer.inputs.push_back(entry.getBody().getArgument(index));
    layer.inputNames.push_back(distinct(formalArgument(entry.argumentName(index)), layer.inputNames));
  }
  return layer;
}

/// The type of a body's argument: that of the value, but a mask of any length (all contexts share the body).
mlir::Type formalType(Value value, llvm::StringRef name) {
  if (name != graph::kMaskArg) return value.getType();
  return withDim(value.getType(), -1, mlir::ShapedType::kDynamic);
}

Signature signatureOf(const Layer& layer, mlir::SymbolTableCollection& tables) {
  Signature key;
  llvm::DenseMap<Value, size_t> numbers;
  for (const auto& [value, name] : llvm::zip(layer.inputs, layer.inputNames)) {
    numbers.try_emplace(value, numbers.size());
    key.push_back(formalType(value, name).getAsOpaquePointer());
    key.push_back(mlir::StringAttr::get(value.getContext(), name).getAsOpaquePointer());
  }
  for (Operation* op : layer.ops) {
    key.push_back(op->getName().getAsOpaquePointer());
    key.push_back(asKey(op->getNumOperands()));
    for (Value operand : op->getOperands()) key.push_back(asKey(numbers.lookup(operand)));
    for (mlir::NamedAttribute attribute : op->getAttrs()) {
      key.push_back(attribute.getName().getAsOpaquePointer());
      auto symbol = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(attribute.getValue());
      if (!symbol) {
        key.push_back(attribute.getValue().getAsOpaquePointer());
        continue;
      }
      key.push_back(asKey(llvm::find(layer.weights, symbol) - layer.weights.begin()));
      key.push_back(graph::weightType(op, symbol, tables).getAsOpaquePointer());
    }
    for (Value result : op->getResults()) {
      numbers.try_emplace(result, numbers.size());
      key.push_back(result.getType().getAsOpaquePointer());
    }
  }
  for (Value output : layer.outputs) key.push_back(asKey(numbers.lookup(output)));
  return key;
}

/// A body and the names of its params, in the order of Layer::weights.
struct Body {
  FuncOp func;
  llvm::SmallVector<std::string> params;
};

/// Makes the bodies and keeps them by signature.
class BodyTable {
 public:
  /// Bodies go before `firstEntry`, in the order they are made.
  BodyTable(mlir::ModuleOp module, FuncOp firstEntry) : module_(module), firstEntry_(firstEntry) {}

  const Body& bodyFor(const Layer& layer) {
    auto [found, isNew] = bodies_.try_emplace(signatureOf(layer, tables_));
    if (isNew) found->second = makeBody(layer);
    return found->second;
  }

 private:
  std::string nextName(int64_t rows) {
    const int count = counts_[rows]++;
    const std::string name = "block." + std::to_string(rows);
    return count == 0 ? name : name + "." + std::to_string(count);
  }

  Body makeBody(const Layer& layer) {
    mlir::OpBuilder builder(module_.getContext());
    builder.setInsertionPoint(firstEntry_);
    llvm::SmallVector<mlir::Type> inputTypes;
    llvm::SmallVector<llvm::StringRef> names(layer.inputNames.begin(), layer.inputNames.end());
    for (const auto& [value, name] : llvm::zip(layer.inputs, layer.inputNames)) {
      inputTypes.push_back(formalType(value, name));
    }
    const auto type = builder.getFunctionType(inputTypes, mlir::ValueRange(layer.outputs).getTypes());
    const int64_t rows = llvm::cast<mlir::RankedTensorType>(inputTypes[0]).getDimSize(0);
    const mlir::Location location = layer.ops.front()->getLoc();
    Body body;
    body.func = builder.create<FuncOp>(location, nextName(rows), type, builder.getStringAttr("private"),
                                       /*arg_attrs=*/nullptr, /*res_attrs=*/nullptr, builder.getStrArrayAttr(names));
    mlir::Block* block = builder.createBlock(&body.func.getBody());
    mlir::IRMapping mapping;
    for (const auto& [value, inputType] : llvm::zip(layer.inputs, inputTypes)) {
      mapping.map(value, block->addArgument(inputType, location));
    }
    for (mlir::FlatSymbolRefAttr weight : layer.weights) {
      body.params.push_back(distinct(formalWeight(weight.getValue(), layer.number), body.params));
      builder.create<graph::ParamOp>(location, body.params.back(),
                                     graph::weightType(layer.ops.front(), weight, tables_));
    }
    for (Operation* op : layer.ops) renameWeights(builder.clone(*op, mapping), layer, body.params);
    llvm::SmallVector<Value> results;
    for (Value output : layer.outputs) results.push_back(mapping.lookup(output));
    builder.create<graph::ReturnOp>(location, results);
    return body;
  }

  static void renameWeights(Operation* op, const Layer& layer, llvm::ArrayRef<std::string> params) {
    for (mlir::NamedAttribute attribute : llvm::to_vector(op->getAttrs())) {
      auto symbol = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(attribute.getValue());
      if (!symbol) continue;
      const size_t index = llvm::find(layer.weights, symbol) - layer.weights.begin();
      op->setAttr(attribute.getName(), mlir::FlatSymbolRefAttr::get(op->getContext(), params[index]));
    }
  }

  mlir::ModuleOp module_;
  FuncOp firstEntry_;
  mlir::SymbolTableCollection tables_;  // used for weights only, which this pass does not change
  std::map<Signature, Body> bodies_;
  std::map<int64_t, int> counts_;
};

void replaceByCall(const Layer& layer, const Body& body) {
  mlir::OpBuilder builder(layer.ops.front());
  llvm::SmallVector<mlir::NamedAttribute> bind;
  for (const auto& [param, weight] : llvm::zip(body.params, layer.weights)) {
    bind.push_back(builder.getNamedAttr(param, weight));
  }
  FuncOp func = body.func;
  auto callee = mlir::FlatSymbolRefAttr::get(func.getSymNameAttr());
  auto call = builder.create<graph::CallOp>(layer.ops.front()->getLoc(), func.getResultTypes(), callee, layer.inputs,
                                            builder.getDictionaryAttr(bind),
                                            builder.getI32IntegerAttr(static_cast<int32_t>(layer.number)));
  for (auto [output, result] : llvm::zip(layer.outputs, call.getResults())) Value(output).replaceAllUsesWith(result);
  for (Operation* op : llvm::reverse(layer.ops)) op->erase();
}

class FoldPass : public mlir::PassWrapper<FoldPass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldPass)

  llvm::StringRef getArgument() const final { return "graph-fold"; }
  llvm::StringRef getDescription() const final { return "Decoder layers become calls of shared bodies"; }

  void runOnOperation() final {
    const auto functions = llvm::to_vector(getOperation().getOps<FuncOp>());
    if (functions.empty()) return;
    BodyTable bodies(getOperation(), functions.front());
    for (FuncOp func : functions) {
      std::optional<graph::Entry> entry = graph::entryOf(func);
      if (!entry || entry->kind == graph::EntryKind::kHead) continue;
      if (mlir::failed(foldEntry(func, *entry, bodies))) return signalPassFailure();
    }
  }

 private:
  static mlir::LogicalResult foldEntry(FuncOp func, const graph::Entry& entry, BodyTable& bodies) {
    Operation* terminator = func.getBody().front().getTerminator();
    Value hidden;
    if (entry.kind != graph::EntryKind::kPrefill) {
      hidden = hiddenBehindLogits(func);
    } else if (terminator->getNumOperands() > 0) {
      hidden = terminator->getOperand(0);
    }
    llvm::SmallVector<LayerSpan> spans;
    if (hidden) spans = findLayers(func, hidden);
    if (spans.empty()) {
      return func.emitOpError() << "graph.fold_c1: found no decoder layers: no points around its cache ops where only "
                                   "the residual stream is alive";
    }
    // A layer's output is the next one's input: calls are made from the last layer to the first, so that no span names
    // a value that has been replaced.
    std::vector<Layer> layers;
    for (const auto& [number, span] : llvm::enumerate(spans)) layers.push_back(describe(func, span, number));
    llvm::SmallVector<const Body*> chosen;
    for (const Layer& layer : layers) chosen.push_back(&bodies.bodyFor(layer));
    for (size_t i = layers.size(); i-- > 0;) replaceByCall(layers[i], *chosen[i]);
    return mlir::success();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> createFoldPass() { return std::make_unique<FoldPass>(); }

}  // namespace firn::passes
