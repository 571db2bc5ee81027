// Types of tensors that differ in one dimension, for the passes.
#pragma once

#include <cstdint>

#include "mlir/IR/BuiltinTypes.h"

namespace firn::passes {

/// `type`, a ranked tensor, with dimension `index` set to `size`; a negative index counts from the end.
inline mlir::RankedTensorType withDim(mlir::Type type, int64_t index, int64_t size) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  llvm::SmallVector<int64_t> shape(tensor.getShape());
  shape[index < 0 ? index + tensor.getRank() : index] = size;
  return mlir::RankedTensorType::get(shape, tensor.getElementType());
}

}  // namespace firn::passes
