#include "compiler/target/entry_lowering.h"

#include <map>

namespace firn::target {
namespace {

/// The symbol kind that an argument of an entry or body stands for; nullopt for caches and matrices of a body.
std::optional<blob::SymbolKind> symbolOf(llvm::StringRef name) {
  std::optional<blob::SymbolKind> kind = task::symbolFromName(name);
  if (kind == blob::SymbolKind::kKv) return std::nullopt;
  return kind;
}

/// DType of a symbol's elements.
DType symbolType(blob::SymbolKind kind) {
  switch (kind) {
    case blob::SymbolKind::kMask: return DType::kU8;
    case blob::SymbolKind::kHidden:
    case blob::SymbolKind::kLogits:
    case blob::SymbolKind::kTopLogits: return DType::kF32;
    default: return DType::kI32;
  }
}

bool isCacheType(mlir::Type type) { return llvm::cast<mlir::RankedTensorType>(type).getRank() >= 3; }

/// A body that was made, and what it needs to be called and leaves behind.
struct LoweredBody {
  std::string name;
  std::vector<StreamTemplate> streams;
  std::vector<ValueState> results;
};

class EntryLowering {
 public:
  EntryLowering(ProgramBuilder& program, const Target& target, const LoweringChoices& choices)
      : program_(program), target_(target), choices_(choices) {}

  mlir::LogicalResult lower(graph::FuncOp func);

 private:
  ValueState symbolState(blob::SymbolKind kind, mlir::Type type);
  mlir::LogicalResult placeArguments(graph::FuncOp func);
  void addSymbols(graph::FuncOp func);
  /// True when none of the value's memory is scratch of one body.
  bool outlivesBody(const ValueState& state) const;
  mlir::LogicalResult loadHidden(graph::FuncOp func);
  mlir::LogicalResult lowerRun(llvm::ArrayRef<mlir::Operation*> ops);
  mlir::LogicalResult lowerCall(graph::CallOp call);
  mlir::FailureOr<LoweredBody> lowerBody(graph::FuncOp callee, llvm::ArrayRef<ValueState> args);
  mlir::LogicalResult addCall(mlir::Operation* op, const LoweredBody& body, llvm::StringRef stream, Binding bind,
                              llvm::ArrayRef<mlir::Attribute> caches);

  ProgramBuilder& program_;
  const Target& target_;
  const LoweringChoices& choices_;
  std::map<std::string, LoweredBody> bodies_;  ///< by callee, group and states of the arguments

  // Of the entry at hand.
  graph::Entry entry_;
  std::string group_;
  task::EntryOp op_;
  llvm::DenseMap<mlir::Value, ValueState> states_;
};

ValueState EntryLowering::symbolState(blob::SymbolKind kind, mlir::Type type) {
  auto shape = llvm::cast<mlir::RankedTensorType>(type).getShape();
  llvm::SmallVector<int64_t> dims(shape.begin(), shape.end());
  // Bodies are shared by all contexts, so the mask is named with all T rows; the entry's context says how many count.
  // In a batch it is that of one row, as is the cache: the device gives each row its own.
  if (kind == blob::SymbolKind::kMask) dims = {program_.shape().kvRows};
  ValueState state;
  state.form = kind == blob::SymbolKind::kHidden ? ValueState::Form::kReplicated : ValueState::Form::kSymbol;
  Tensor tensor = denseTensor(blob::Space::kSymbol, task::symbolName(kind).str(), symbolType(kind), dims);
  state.lanes.assign(static_cast<size_t>(program_.shape().lanes), tensor);
  return state;
}

mlir::LogicalResult EntryLowering::placeArguments(graph::FuncOp func) {
  for (mlir::BlockArgument arg : func.getBody().getArguments()) {
    llvm::StringRef name = func.argumentName(arg.getArgNumber());
    if (std::optional<blob::SymbolKind> kind = symbolOf(name)) {
      states_[arg] = symbolState(*kind, arg.getType());
      continue;
    }
    llvm::StringRef rest = name;
    bool isKey = rest.consume_front("kv.k.");
    unsigned layer = 0;
    if ((!isKey && !rest.consume_front("kv.v.")) || rest.getAsInteger(10, layer)) {
      return func.emitOpError() << "argument '" << name << "' is no symbol and no cache kv.k.N or kv.v.N";
    }
    const ProgramShape& shape = program_.shape();
    llvm::SmallVector<int64_t> dims = {shape.card.kvHeads, shape.kvRows, shape.card.headDim};
    if (graph::cacheDims(arg.getType()) != llvm::ArrayRef<int64_t>(dims)) {
      return func.emitOpError() << "cache '" << name << "' is " << arg.getType() << ", not [" << dims << "]";
    }
    ValueState state;
    state.form = ValueState::Form::kCache;
    state.cache = denseTensor(blob::Space::kKv, "", shape.kvType, dims);
    state.cache.offset = program_.cacheOffset(layer, !isKey);
    if (program_.cachePart().scalesBytes != 0) {
      state.scales = denseTensor(blob::Space::kKv, "", DType::kF32, {shape.card.kvHeads, shape.kvRows});
      state.scales->offset = state.cache.offset + program_.cachePart().rowsBytes;
    }
    states_[arg] = state;
  }
  return mlir::success();
}

void EntryLowering::addSymbols(graph::FuncOp func) {
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(&op_.getBody().front());
  auto addBytes = [&](blob::SymbolKind kind, DType dtype, llvm::ArrayRef<int64_t> dims, uint64_t bytes, bool output) {
    builder.create<task::SymbolOp>(func.getLoc(), task::symbolName(kind), task::dtypeName(dtype), dims, bytes, output);
  };
  auto add = [&](blob::SymbolKind kind, DType dtype, llvm::ArrayRef<int64_t> dims, bool output) {
    addBytes(kind, dtype, dims, denseBytes(dtype, dims), output);
  };
  const ProgramShape& shape = program_.shape();
  using Kind = blob::SymbolKind;
  bool isHead = entry_.kind == graph::EntryKind::kHead;
  bool isBatch = entry_.kind == graph::EntryKind::kBatch;
  int64_t caches = isBatch ? entry_.rows : 1;
  if (!isHead) {
    if (entry_.part == 0) add(Kind::kIds, DType::kI32, {entry_.rows}, false);
    add(Kind::kPositions, DType::kI32, {entry_.rows}, false);
    add(Kind::kValid, DType::kI32, {1}, false);
    add(Kind::kRow0, DType::kI32, {caches}, false);
    llvm::SmallVector<int64_t> mask = {entry_.context};
    if (isBatch) mask.insert(mask.begin(), entry_.rows);
    add(Kind::kMask, DType::kU8, mask, false);
  }
  bool leaves = graph::leavesHidden(entry_);
  if (isHead || leaves || entry_.part > 0) add(Kind::kHidden, DType::kF32, {entry_.rows, shape.card.embed}, leaves);
  if (!leaves) add(Kind::kLogits, DType::kF32, {entry_.rows, shape.card.vocab}, true);
  for (auto topK : func.getBody().getOps<graph::TopKOp>()) {
    const auto lists = llvm::cast<mlir::RankedTensorType>(topK.getValues().getType()).getShape();
    add(Kind::kTopLogits, DType::kF32, lists, true);
    add(Kind::kTopIds, DType::kI32, lists, true);
  }
  if (isHead) return;
  for (int64_t row = 0; row < caches; ++row) {
    const llvm::SmallVector<int64_t> dims = {2 * shape.card.layers, shape.card.kvHeads, shape.kvRows,
                                             shape.card.headDim};
    addBytes(blob::kvOfRow(static_cast<uint32_t>(row)), shape.kvType, dims,
             static_cast<uint64_t>(dims[0]) * program_.cachePart().bytes(), true);
  }
}

mlir::LogicalResult EntryLowering::addCall(mlir::Operation* op, const LoweredBody& body, llvm::StringRef stream,
                                           Binding bind, llvm::ArrayRef<mlir::Attribute> caches) {
  llvm::SmallVector<mlir::Attribute> args;
  for (const StreamTemplate& packs : body.streams) {
    mlir::FlatSymbolRefAttr symbol = program_.stream((stream + "." + packs.param).str(), packs, bind);
    if (!symbol) return op->emitOpError() << "binds no weight to a formal one of its body";
    args.push_back(symbol);
  }
  args.append(caches.begin(), caches.end());
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(&op_.getBody().front());
  mlir::IntegerAttr layer;
  if (auto call = llvm::dyn_cast<graph::CallOp>(op)) layer = builder.getI64IntegerAttr(call.getLayer());
  builder.create<task::CallOp>(op->getLoc(), body.name, builder.getArrayAttr(args), layer);
  return mlir::success();
}

bool EntryLowering::outlivesBody(const ValueState& state) const {
  std::string prefix = "@" + group_ + ".";
  auto isKept = [&](const Tensor& tensor) {
    return tensor.space != blob::Space::kScratch || llvm::StringRef(tensor.base).starts_with(prefix);
  };
  bool hasPartials = state.form == ValueState::Form::kPartial || state.form == ValueState::Form::kSum;
  return llvm::all_of(state.lanes, isKept) && (!hasPartials || isKept(state.partials));
}

/// The rows that the part before left: a body of its own, which runs first.
mlir::LogicalResult EntryLowering::loadHidden(graph::FuncOp func) {
  mlir::BlockArgument hidden = func.findArgument(graph::kHiddenArg);
  if (!hidden) return func.emitOpError() << "is a part behind another and takes no hidden rows";
  BodyLowering lowering(program_, target_, choices_, {group_, entry_.rows});
  lowering.set(hidden, states_[hidden]);
  if (mlir::failed(lowering.loadHidden(hidden))) return mlir::failure();
  states_[hidden] = *lowering.find(hidden);
  LoweredBody body;
  body.name = lowering.finish(group_ + ".hidden", {});
  return addCall(func, body, "hidden", [](llvm::StringRef) { return graph::WeightOp(); }, {});
}

mlir::LogicalResult EntryLowering::lowerRun(llvm::ArrayRef<mlir::Operation*> ops) {
  BodyLowering lowering(program_, target_, choices_, {group_, entry_.rows});
  for (auto& [value, state] : states_) lowering.set(value, state);
  for (mlir::Operation* op : ops) {
    if (auto ret = llvm::dyn_cast<graph::ReturnOp>(op)) {
      auto symbol = graph::leavesHidden(entry_) ? blob::SymbolKind::kHidden : blob::SymbolKind::kLogits;
      if (mlir::failed(lowering.storeOutput(ret.getValues().front(), symbol))) return mlir::failure();
    } else if (mlir::failed(lowering.lower(op))) {
      return mlir::failure();
    }
  }
  for (mlir::Operation* op : ops) {
    for (mlir::Value result : op->getResults()) {
      ValueState* state = lowering.find(result);
      if (state == nullptr || !outlivesBody(*state)) continue;
      state->writtenSegment = -1;
      states_[result] = *state;
    }
  }
  if (lowering.isEmpty()) return mlir::success();
  std::string role = llvm::isa<graph::ReturnOp>(ops.back()) ? "output" : "input";
  LoweredBody body;
  body.name = lowering.finish(group_ + "." + role, {});
  body.streams = lowering.streams();
  auto module = ops.front()->getParentOfType<mlir::ModuleOp>();
  auto bind = [&](llvm::StringRef formal) {
    return program_.tables().lookupSymbolIn<graph::WeightOp>(module, mlir::StringAttr::get(program_.context(), formal));
  };
  return addCall(ops.front(), body, role, bind, {});
}

mlir::FailureOr<LoweredBody> EntryLowering::lowerBody(graph::FuncOp callee, llvm::ArrayRef<ValueState> args) {
  BodyLowering lowering(program_, target_, choices_, {group_, entry_.rows});
  std::vector<std::string> caches;
  for (mlir::BlockArgument arg : callee.getBody().getArguments()) {
    ValueState state = args[arg.getArgNumber()];
    if (state.form == ValueState::Form::kCache) {
      caches.push_back(callee.argumentName(arg.getArgNumber()).str());
      state.cache.base = caches.back();
      state.cache.offset = 0;
      if (state.scales) {
        state.scales->base = state.cache.base;
        state.scales->offset = program_.cachePart().rowsBytes;
      }
    }
    lowering.set(arg, state);
  }
  LoweredBody body;
  for (mlir::Operation& op : callee.getBody().front()) {
    if (llvm::isa<graph::ParamOp>(op)) continue;
    auto ret = llvm::dyn_cast<graph::ReturnOp>(op);
    if (!ret) {
      if (mlir::failed(lowering.lower(&op))) return mlir::failure();
      continue;
    }
    unsigned index = 0;
    for (mlir::Value value : ret.getValues()) {
      if (!isCacheType(value.getType()) && mlir::failed(lowering.keepResult(value, index++))) return mlir::failure();
      ValueState* state = lowering.find(value);
      if (state == nullptr) return ret.emitOpError() << "returns a value that no task makes", mlir::failure();
      state->writtenSegment = -1;
      body.results.push_back(*state);
    }
  }
  body.name = lowering.finish(callee.getSymName(), caches);
  body.streams = lowering.streams();
  return body;
}

mlir::LogicalResult EntryLowering::lowerCall(graph::CallOp call) {
  auto module = call->getParentOfType<mlir::ModuleOp>();
  auto& tables = program_.tables();
  auto callee = tables.lookupSymbolIn<graph::FuncOp>(module, call.getCalleeAttr().getAttr());
  if (!callee) return call.emitOpError() << "calls no function: " << call.getCallee();
  std::vector<ValueState> args;
  llvm::SmallVector<mlir::Attribute> caches;
  llvm::StringMap<ValueState> cacheOf;  // by the callee's name for it
  std::string key = (call.getCallee() + "|" + group_).str();
  for (auto [index, value] : llvm::enumerate(call.getArgs())) {
    auto known = states_.find(value);
    if (known == states_.end()) return call.emitOpError() << "argument " << index << " is not kept between bodies";
    args.push_back(known->second);
    key += "|" + known->second.describe();
    if (known->second.form != ValueState::Form::kCache) continue;
    caches.push_back(mlir::Builder(call).getI64IntegerAttr(static_cast<int64_t>(known->second.cache.offset)));
    cacheOf[callee.argumentName(index)] = known->second;
  }
  auto made = bodies_.find(key);
  if (made == bodies_.end()) {
    mlir::FailureOr<LoweredBody> body = lowerBody(callee, args);
    if (mlir::failed(body)) return mlir::failure();
    made = bodies_.emplace(key, *std::move(body)).first;
  }
  for (auto [value, state] : llvm::zip(call.getResults(), made->second.results)) {
    bool isCache = state.form == ValueState::Form::kCache;
    states_[value] = isCache ? cacheOf[state.cache.base] : state;
  }
  auto bind = [&](llvm::StringRef formal) -> graph::WeightOp {
    auto actual = call.getBind().getAs<mlir::FlatSymbolRefAttr>(formal);
    mlir::StringAttr name = actual ? actual.getAttr() : mlir::StringAttr::get(program_.context(), formal);
    return tables.lookupSymbolIn<graph::WeightOp>(module, name);
  };
  return addCall(call, made->second, "layer." + std::to_string(call.getLayer()), bind, caches);
}

mlir::LogicalResult EntryLowering::lower(graph::FuncOp func) {
  entry_ = *graph::entryOf(func);
  group_ = (task::entryKindName(entry_.kind) + "." + llvm::Twine(entry_.rows)).str();
  states_.clear();
  op_ = program_.entry(entry_, group_, func->getAttrOfType<mlir::StringAttr>(graph::kReasonAttr));
  addSymbols(func);
  if (mlir::failed(placeArguments(func))) return mlir::failure();
  if (entry_.part > 0 && mlir::failed(loadHidden(func))) return mlir::failure();
  llvm::SmallVector<mlir::Operation*> run;
  for (mlir::Operation& op : func.getBody().front()) {
    auto call = llvm::dyn_cast<graph::CallOp>(op);
    if (!call) {
      run.push_back(&op);
      continue;
    }
    if (!run.empty() && mlir::failed(lowerRun(run))) return mlir::failure();
    run.clear();
    if (mlir::failed(lowerCall(call))) return mlir::failure();
  }
  return lowerRun(run);
}

}  // namespace

mlir::LogicalResult lowerModule(mlir::ModuleOp module, const Target& target, const ProgramShape& shape,
                                const LoweringChoices& choices) {
  llvm::SmallVector<graph::FuncOp> entries;
  for (auto func : module.getOps<graph::FuncOp>()) {
    auto device = func->getAttrOfType<mlir::StringAttr>(graph::kDeviceAttr);
    if (graph::entryOf(func) && device && device.getValue() == target.name()) entries.push_back(func);
  }
  ProgramBuilder program(module, shape);
  EntryLowering lowering(program, target, choices);
  for (graph::FuncOp func : entries) {
    if (mlir::failed(lowering.lower(func))) return mlir::failure();
  }
  return mlir::success();
}

}  // namespace firn::target
