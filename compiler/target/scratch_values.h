// Values that lie whole in memory all tasks reach: how the targets reference and npu keep what ops make. The state of
// such a value has one tensor, lanes[0]. Not for targets that split values among lanes (target/cpu).
#pragma once

#include "compiler/target/body_lowering.h"

namespace firn::target::scratch {

/// Makes the tasks that copy a tensor.
using Copy = void (*)(BodyLowering& body, const Tensor& from, const Tensor& to);

/// Where `value` is; the module verifier has seen that it is computed before it is used.
mlir::FailureOr<Tensor> input(BodyLowering& body, mlir::Operation* op, mlir::Value value);

/// The buffer `name` of the entry, in which a value of this type crosses from body to body.
Tensor crossing(BodyLowering& body, llvm::StringRef name, DType dtype, mlir::Type type);

/// Memory for a result, chosen so that it need not be copied: the symbol or the buffer that its reader expects. `at`:
/// the op whose tasks write it; null: that which makes it.
Tensor output(BodyLowering& body, mlir::Value result, DType dtype = DType::kF32, mlir::Operation* at = nullptr);

/// True where `value`, returned by `ret`, crosses in a buffer whose name says f16.
bool crossesAsHalf(mlir::Value value, mlir::Operation* ret);

/// `result` is in `place` from here on.
void define(BodyLowering& body, mlir::Value result, const Tensor& place);

/// Copies `value` to `place`, unless it is there.
mlir::LogicalResult copyTo(BodyLowering& body, mlir::Value value, const Tensor& place, Copy copy);

/// Target::keepResult and Target::storeOutput.
mlir::LogicalResult keep(BodyLowering& body, mlir::Value value, unsigned index, Copy copy);
mlir::LogicalResult store(BodyLowering& body, mlir::Value value, blob::SymbolKind symbol, Copy copy);

}  // namespace firn::target::scratch
