// What the verifiers of the graph dialect share: one way to say that a labelled constraint of docs/ops.md is violated.
// Not here: the constraints themselves.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace firn::graph {

/// An error on `op` that begins with the label; the caller appends what was found and what was expected.
inline mlir::InFlightDiagnostic violates(mlir::Operation* op, const llvm::Twine& label) {
  return op->emitOpError() << label.str() << ": ";
}

/// Equal, or one of them not known yet.
inline bool dimsFit(int64_t a, int64_t b) {
  return a == b || mlir::ShapedType::isDynamic(a) || mlir::ShapedType::isDynamic(b);
}

/// Same rank and dims that fit.
inline bool shapeFits(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> dims) {
  if (type.getRank() != static_cast<int64_t>(dims.size())) return false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dimsFit(type.getDimSize(i), dims[i])) return false;
  }
  return true;
}

/// Ranked tensors of one element type whose shapes fit.
inline bool tensorsFit(mlir::Type a, mlir::Type b) {
  auto left = llvm::dyn_cast<mlir::RankedTensorType>(a);
  auto right = llvm::dyn_cast<mlir::RankedTensorType>(b);
  return left && right && left.getElementType() == right.getElementType() && shapeFits(left, right.getShape());
}

/// "4x?x64", for messages.
std::string shapeText(llvm::ArrayRef<int64_t> dims);

}  // namespace firn::graph
