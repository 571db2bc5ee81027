#include "compiler/passes/resolve_names.h"

#include <optional>
#include <string>

namespace firn::passes {
namespace {

std::optional<uint64_t> addressOf(llvm::StringRef name, const Addresses& addresses) {
  auto found = addresses.find(name);
  return found != addresses.end() ? std::optional(found->second) : std::nullopt;
}

task::OperandAttr resolved(task::OperandAttr operand, const Addresses& own, const Addresses& shared) {
  llvm::StringRef name = operand.getBase();
  std::string base;
  if (operand.getSpace() == blob::Space::kCmx) {
    const auto cmx = task::cmxBase(name);
    if (!cmx || cmx->buffer.empty()) return operand;
    name = cmx->buffer;
    base = std::to_string(cmx->tile);
  } else if (!name.consume_front("@")) {
    return operand;
  }
  // Weights lie in streams, which are the program's, and a buffer of the body may have the name of one.
  auto address = operand.getSpace() == blob::Space::kWeights ? std::nullopt : addressOf(name, own);
  if (!address) address = addressOf(name, shared);
  if (!address) return operand;
  return task::OperandAttr::get(operand.getContext(), operand.getSpace(), base, *address + operand.getOffset(),
                                operand.getDtype(), operand.getLayout(), operand.getDims(), operand.getStrides(),
                                operand.getBytes());
}

}  // namespace

void addAddresses(mlir::Region& region, Addresses& addresses) {
  for (mlir::Operation& op : region.getOps()) {
    if (auto buffer = llvm::dyn_cast<task::BufferOp>(op); buffer && buffer.getAddress()) {
      addresses[buffer.getSymName()] = *buffer.getAddress();
    } else if (auto stream = llvm::dyn_cast<task::StreamOp>(op); stream && stream.getAddress()) {
      addresses[stream.getSymName()] = *stream.getAddress();
    }
  }
}

void resolveNames(task::RunOp run, const Addresses& own, const Addresses& shared) {
  llvm::SmallVector<mlir::Attribute> args;
  for (auto operand : run.getArgs().getAsRange<task::OperandAttr>()) args.push_back(resolved(operand, own, shared));
  run.setArgsAttr(mlir::ArrayAttr::get(run.getContext(), args));
}

}  // namespace firn::passes
