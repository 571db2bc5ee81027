// A tensor while a target lowers a body: memory with a shape, not yet an attribute. Not here: graph tensors, which are
// MLIR values.
#pragma once

#include <cstdint>
#include <string>

#include "base/dtype.h"
#include "blob/layout.h"
#include "compiler/ir/task.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace firn::target {

/// What a task operand will say. `base` as in #task.operand; `offset` in bytes; dims and strides in elements.
struct Tensor {
  blob::Space space = blob::Space::kScratch;
  std::string base;
  uint64_t offset = 0;
  DType dtype = DType::kF32;
  blob::Layout layout = blob::Layout::kStrided;
  llvm::SmallVector<int64_t, 4> dims;
  llvm::SmallVector<int64_t, 4> strides;

  /// The attribute; its bytes are the extent of the shape. The shape must have one (task::operandExtent).
  task::OperandAttr attr(mlir::MLIRContext* context) const;

  /// Columns [first, first + count) of the last dimension. Not for quantized types.
  Tensor columns(int64_t first, int64_t count) const;
  /// [m, n] seen as [m, n / d, d].
  Tensor heads(int64_t headDim) const;
  /// [m, n] seen as [1, m, n].
  Tensor asPartial() const;
  /// Elements [first, first + count) of dimension 0. Not for panels.
  Tensor slice(int64_t first, int64_t count) const;
  /// Element `index` of dimension 0, which disappears.
  Tensor element(int64_t index) const;
};

/// A row-major tensor at the start of `base`.
Tensor denseTensor(blob::Space space, std::string base, DType dtype, llvm::ArrayRef<int64_t> dims);

/// Bytes that a row-major tensor of these dims takes. The dims come from verified graph types, so it fits.
uint64_t denseBytes(DType dtype, llvm::ArrayRef<int64_t> dims);

}  // namespace firn::target
