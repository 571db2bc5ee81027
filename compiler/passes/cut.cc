#include "compiler/passes/cut.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace firn::passes {
namespace {

using graph::FuncOp;
using mlir::Value;

/// Makes the functions of one entry.
class Cutter {
 public:
  Cutter(FuncOp entry, llvm::ArrayRef<Part> parts) : entry_(entry), parts_(parts) {
    for (const auto& [index, part] : llvm::enumerate(parts)) {
      for (mlir::Operation* op : part.ops) partOf_[op] = index;
    }
  }

  mlir::LogicalResult run() {
    Value hidden;
    for (size_t index = 0; index < parts_.size(); ++index) {
      Value leaving = leavingValue(index);
      if (!leaving) {
        return entry_.emitOpError() << "graph.place_c4: more than the hidden rows is alive behind part " << index;
      }
      makePart(index, hidden, leaving);
      hidden = leaving;
    }
    entry_.erase();
    return mlir::success();
  }

 private:
  mlir::Operation* terminator() { return entry_.getBody().front().getTerminator(); }

  /// The only value of part `index` or before that a later part reads, made by that very part; of the last part what
  /// the entry gives. Null when there is no such value.
  Value leavingValue(size_t index) {
    if (index + 1 == parts_.size()) return terminator()->getOperand(0);
    Value leaving;
    for (size_t later = index + 1; later < parts_.size(); ++later) {
      for (mlir::Operation* op : parts_[later].ops) {
        for (Value operand : op->getOperands()) {
          mlir::Operation* maker = operand.getDefiningOp();
          if (maker == nullptr || partOf_.lookup(maker) > index) continue;
          if (partOf_.lookup(maker) != index || (leaving && leaving != operand)) return {};
          leaving = operand;
        }
      }
    }
    const auto type = leaving ? llvm::dyn_cast<mlir::RankedTensorType>(leaving.getType()) : mlir::RankedTensorType();
    return type && type.getRank() == 2 ? leaving : Value();
  }

  void makePart(size_t index, Value hidden, Value leaving) {
    const Part& part = parts_[index];
    mlir::OpBuilder builder(entry_);
    llvm::SmallVector<Value> inputs;
    llvm::SmallVector<llvm::StringRef> names;
    if (hidden) {
      inputs.push_back(hidden);
      names.push_back(graph::kHiddenArg);
    }
    for (mlir::BlockArgument argument : entry_.getBody().getArguments()) {
      const bool isRead = llvm::any_of(argument.getUsers(), [&](mlir::Operation* user) {
        return user != terminator() && partOf_.lookup(user) == index;
      });
      if (!isRead) continue;
      inputs.push_back(argument);
      names.push_back(entry_.argumentName(argument.getArgNumber()));
    }
    llvm::SmallVector<Value> outputs = {leaving};
    for (Value cache : terminator()->getOperands().drop_front()) {
      mlir::Operation* maker = cache.getDefiningOp();
      if (maker != nullptr && partOf_.lookup(maker) == index) outputs.push_back(cache);
    }
    graph::Entry record = *graph::entryOf(entry_);
    record.part = static_cast<int64_t>(index);
    record.parts = static_cast<int64_t>(parts_.size());
    auto func = builder.create<FuncOp>(
        entry_.getLoc(), graph::entryName(record),
        builder.getFunctionType(mlir::ValueRange(inputs).getTypes(), mlir::ValueRange(outputs).getTypes()),
        /*sym_visibility=*/nullptr, /*arg_attrs=*/nullptr, /*res_attrs=*/nullptr, builder.getStrArrayAttr(names));
    func->setAttr(graph::kEntryAttr, graph::entryAttr(*builder.getContext(), record));
    func->setAttr(graph::kDeviceAttr, builder.getStringAttr(part.device));
    func->setAttr(graph::kReasonAttr, builder.getStringAttr(part.reason));
    mlir::Block* block = builder.createBlock(&func.getBody());
    mlir::IRMapping mapping;
    for (Value input : inputs) mapping.map(input, block->addArgument(input.getType(), entry_.getLoc()));
    for (mlir::Operation* op : part.ops) builder.clone(*op, mapping);
    llvm::SmallVector<Value> results;
    for (Value output : outputs) results.push_back(mapping.lookup(output));
    builder.create<graph::ReturnOp>(entry_.getLoc(), results);
  }

  FuncOp entry_;
  llvm::ArrayRef<Part> parts_;
  llvm::DenseMap<mlir::Operation*, size_t> partOf_;
};

}  // namespace

mlir::LogicalResult cutEntry(FuncOp entry, llvm::ArrayRef<Part> parts) { return Cutter(entry, parts).run(); }

}  // namespace firn::passes
