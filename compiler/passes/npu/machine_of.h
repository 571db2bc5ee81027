// The machine that a module or program is for, from the text it carries, and the bodies that run on it.
#pragma once

#include <atomic>

#include "blob/machine/machine.h"
#include "compiler/ir/task.h"
#include "mlir/IR/Operation.h"

namespace firn::passes {

/// Reads the machine file in the attribute `name` of `op`. Failure after a diagnostic, which begins with `error`: the
/// attribute is missing or no machine file.
mlir::FailureOr<machine::Machine> machineOf(mlir::Operation* op, llvm::StringRef name, llvm::StringRef error);

/// Hands each body of `program`, with the machine that the program names, to `work`. Failure: one failed, or after a
/// diagnostic there is no machine, or, without one, `cancel` was set by another thread: it ends between two bodies.
mlir::LogicalResult forEachBody(task::ProgramOp program, llvm::StringRef error, const std::atomic<bool>* cancel,
                                llvm::function_ref<mlir::LogicalResult(task::BodyOp, const machine::Machine&)> work);

}  // namespace firn::passes
