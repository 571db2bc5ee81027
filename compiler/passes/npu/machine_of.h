// The machine that a module or program is for, from the text it carries.
#pragma once

#include "blob/machine/machine.h"
#include "mlir/IR/Operation.h"

namespace firn::passes {

/// Reads the machine file in the attribute `name` of `op`. Failure after a diagnostic, which begins with `error`: the
/// attribute is missing or no machine file.
mlir::FailureOr<machine::Machine> machineOf(mlir::Operation* op, llvm::StringRef name, llvm::StringRef error);

}  // namespace firn::passes
