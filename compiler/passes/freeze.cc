// Phase "freeze": passes.h.
#include "compiler/ir/graph.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/residual.h"
#include "compiler/passes/with_dim.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {
namespace {

using graph::Entry;
using graph::EntryKind;
using graph::FuncOp;
using mlir::RankedTensorType;

/// One `type` for each of m rows.
RankedTensorType forEachRow(RankedTensorType type, int64_t rows) {
  llvm::SmallVector<int64_t> shape = {rows};
  shape.append(type.getShape().begin(), type.getShape().end());
  return RankedTensorType::get(shape, type.getElementType());
}

/// The static type of argument `index` of @model in an entry of m rows and context c over T cache rows.
mlir::Type argumentType(FuncOp func, unsigned index, const Entry& entry, int64_t kvRows) {
  auto type = llvm::cast<RankedTensorType>(func.getArgumentTypes()[index]);
  const llvm::StringRef name = func.argumentName(index);
  const bool isMask = name == graph::kMaskArg;
  const bool isCache = type.getRank() == 3;
  if (isMask) type = withDim(type, 0, entry.context);
  if (isCache) type = withDim(type, 1, kvRows);
  const bool isPerRow = isMask || isCache || name == graph::kRow0Arg;
  if (isPerRow) return entry.kind == EntryKind::kBatch ? forEachRow(type, entry.rows) : type;
  return type.getRank() == 0 ? type : withDim(type, 0, entry.rows);
}

/// Sets the type of `op`'s result from the (static) types of its operands.
void refineResult(mlir::Operation& op) {
  if (op.getNumResults() != 1 || op.getNumOperands() == 0) return;
  mlir::Value result = op.getResult(0);
  if (llvm::isa<graph::CacheUpdateOp>(op)) {
    result.setType(op.getOperand(0).getType());
    return;
  }
  mlir::Value rows = llvm::isa<graph::SelectRowsOp>(op) ? op.getOperand(1) : op.getOperand(0);
  result.setType(withDim(result.getType(), 0, llvm::cast<RankedTensorType>(rows.getType()).getDimSize(0)));
}

void updateFunctionType(FuncOp func) {
  mlir::Block& block = func.getBody().front();
  func.setFunctionType(
      mlir::FunctionType::get(func.getContext(), block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
}

/// Erases the ops whose results nobody uses, last first.
void eraseDeadOps(mlir::Block& block) {
  for (mlir::Operation* op = block.getTerminator()->getPrevNode(); op != nullptr;) {
    mlir::Operation* previous = op->getPrevNode();
    if (op->use_empty()) op->erase();
    op = previous;
  }
}

/// Returns the best `count` of the logits behind them.
void returnBest(FuncOp func, int64_t count) {
  if (count == 0) return;
  mlir::Operation* terminator = func.getBody().front().getTerminator();
  mlir::OpBuilder builder(terminator);
  mlir::Value logits = terminator->getOperand(0);
  auto lists = withDim(logits.getType(), 1, count);
  auto best = builder.create<graph::TopKOp>(logits.getLoc(), lists,
                                            RankedTensorType::get(lists.getShape(), builder.getI32Type()), logits);
  terminator->insertOperands(1, best.getResults());
}

/// The sizes of the programs aside from those of an entry itself.
struct Sizes {
  int64_t kvRows = 0;
  int64_t topTokens = 0;
};

/// A prefill, generate or batch entry: the whole of @model with static shapes; a prefill stops before the last norm.
void cloneEntry(FuncOp model, const Entry& entry, const Sizes& sizes, mlir::OpBuilder& builder) {
  auto func = llvm::cast<FuncOp>(builder.clone(*model));
  func.setSymName(graph::entryName(entry));
  func->setAttr(graph::kEntryAttr, graph::entryAttr(*builder.getContext(), entry));
  mlir::Block& block = func.getBody().front();
  for (mlir::BlockArgument argument : block.getArguments()) {
    argument.setType(argumentType(func, argument.getArgNumber(), entry, sizes.kvRows));
  }
  for (mlir::Operation& op : block.without_terminator()) refineResult(op);
  if (entry.kind == EntryKind::kPrefill) {
    block.getTerminator()->setOperand(0, hiddenBehindLogits(func));
    eraseDeadOps(block);
  } else {
    returnBest(func, sizes.topTokens);
  }
  updateFunctionType(func);
}

/// A head entry: the ops from the last norm on.
void cloneHead(FuncOp model, int64_t rows, const Sizes& sizes, mlir::OpBuilder& builder) {
  const Entry entry{.kind = EntryKind::kHead, .rows = rows, .context = 0};
  mlir::Value hidden = hiddenBehindLogits(model);
  mlir::Value logits = model.getBody().front().getTerminator()->getOperand(0);
  llvm::SmallVector<mlir::Operation*> tail;
  for (mlir::Value value = logits; value != hidden; value = value.getDefiningOp()->getOperand(0)) {
    tail.push_back(value.getDefiningOp());
  }
  mlir::Type inputType = withDim(hidden.getType(), 0, rows);
  mlir::Type outputType = withDim(logits.getType(), 0, rows);
  auto func =
      builder.create<FuncOp>(model.getLoc(), graph::entryName(entry), builder.getFunctionType(inputType, outputType),
                             /*sym_visibility=*/nullptr, /*arg_attrs=*/nullptr, /*res_attrs=*/nullptr,
                             builder.getStrArrayAttr({graph::kHiddenArg}));
  func->setAttr(graph::kEntryAttr, graph::entryAttr(*builder.getContext(), entry));
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block* block = builder.createBlock(&func.getBody());
  mlir::IRMapping mapping;
  mapping.map(hidden, block->addArgument(inputType, model.getLoc()));
  for (mlir::Operation* op : llvm::reverse(tail)) refineResult(*builder.clone(*op, mapping));
  builder.create<graph::ReturnOp>(model.getLoc(), mapping.lookup(logits));
  returnBest(func, sizes.topTokens);
  updateFunctionType(func);
}

/// Columns of what @model gives back first; 0 where that is no matrix, which freeze_c3 refuses.
int64_t vocabularyOf(FuncOp model) {
  mlir::Operation* terminator = model.getBody().front().getTerminator();
  if (terminator->getNumOperands() == 0) return 0;
  auto logits = llvm::dyn_cast<RankedTensorType>(terminator->getOperand(0).getType());
  return logits && logits.getRank() == 2 ? logits.getDimSize(1) : 0;
}

bool isLadder(llvm::ArrayRef<int64_t> values, int64_t limit) {
  int64_t previous = 0;
  for (int64_t value : values) {
    if (value <= previous || value > limit) return false;
    previous = value;
  }
  return !values.empty();
}

class FreezePass : public mlir::PassWrapper<FreezePass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FreezePass)

  FreezePass() = default;
  FreezePass(const FreezePass& other) : PassWrapper(other) {}
  explicit FreezePass(const FreezeOptions& options) {
    chunks_ = options.chunks;
    contexts_ = options.contexts;
    batches_ = options.batches;
    headRows_ = options.headRows;
    kvRows_ = options.kvRows;
    topTokens_ = options.topTokens;
  }

  llvm::StringRef getArgument() const final { return "graph-freeze"; }
  llvm::StringRef getDescription() const final { return "One static clone of @model per entry"; }

  void runOnOperation() final {
    FuncOp model = findModel(getOperation());
    if (!model || !model.findArgument(graph::kMaskArg)) {
      getOperation().emitError("graph.freeze_c1: expected exactly one graph.func, named @model, that is stateless");
      return signalPassFailure();
    }
    if (!hiddenBehindLogits(model)) {
      model.emitOpError("graph.freeze_c3: result 0 is not made by a norm and a graph.head from one matrix");
      return signalPassFailure();
    }
    // A tensor of 2^31 rows has no i32 row number.
    if (kvRows_ < 1 || kvRows_ > INT32_MAX || !isLadder(chunks_, kvRows_) || !isLadder(contexts_, kvRows_) ||
        !isLadder(headRows_, INT32_MAX) || !isBatchLadder() || topTokens_ < 0 || topTokens_ > vocabularyOf(model) ||
        llvm::ArrayRef<int64_t>(chunks_).back() > llvm::ArrayRef<int64_t>(contexts_).back()) {
      getOperation().emitError() << "graph.freeze_c2: found chunks [" << llvm::ArrayRef<int64_t>(chunks_)
                                 << "], contexts [" << llvm::ArrayRef<int64_t>(contexts_) << "], head rows ["
                                 << llvm::ArrayRef<int64_t>(headRows_) << "], batches ["
                                 << llvm::ArrayRef<int64_t>(batches_) << "], kv rows " << kvRows_.getValue() << ", top "
                                 << topTokens_.getValue()
                                 << ", expected ascending ladders from 1 up to the kv rows, a context for each chunk, "
                                    "and top from 0 to the "
                                 << vocabularyOf(model) << " tokens of the vocabulary";
      return signalPassFailure();
    }
    makeEntries(model);
  }

 private:
  bool isBatchLadder() const {
    const llvm::ArrayRef<int64_t> batches = batches_;
    return batches.empty() || (isLadder(batches, kvRows_) && batches.front() > 1);
  }

  void makeEntries(FuncOp model) {
    mlir::OpBuilder builder(model);
    const Sizes sizes = {kvRows_, topTokens_};
    for (int64_t chunk : chunks_) {
      for (int64_t context : contexts_) {
        if (context < chunk) continue;
        cloneEntry(model, {.kind = EntryKind::kPrefill, .rows = chunk, .context = context}, sizes, builder);
      }
    }
    for (int64_t context : contexts_) {
      cloneEntry(model, {.kind = EntryKind::kGenerate, .rows = 1, .context = context}, sizes, builder);
    }
    for (int64_t rows : batches_) {
      for (int64_t context : contexts_) {
        if (context < rows) continue;
        cloneEntry(model, {.kind = EntryKind::kBatch, .rows = rows, .context = context}, sizes, builder);
      }
    }
    for (int64_t rows : headRows_) cloneHead(model, rows, sizes, builder);
    model.erase();
  }

  ListOption<int64_t> chunks_{*this, "chunks", llvm::cl::desc("rows of prefill entries, ascending")};
  ListOption<int64_t> contexts_{*this, "contexts", llvm::cl::desc("context sizes, ascending")};
  ListOption<int64_t> batches_{*this, "batches", llvm::cl::desc("rows of batch entries, ascending, from 2")};
  ListOption<int64_t> headRows_{*this, "head-rows", llvm::cl::desc("rows of head entries, ascending")};
  Option<int64_t> kvRows_{*this, "kv-rows", llvm::cl::desc("rows of the KV cache"), llvm::cl::init(0)};
  Option<int64_t> topTokens_{*this, "top", llvm::cl::desc("length of the lists of the best logits; 0: none"),
                             llvm::cl::init(0)};
};

}  // namespace

std::unique_ptr<mlir::Pass> createFreezePass(const FreezeOptions& options) {
  return std::make_unique<FreezePass>(options);
}

}  // namespace firn::passes
