// Walks the entries of a placed graph and makes the task program of a target: runs of ops and calls become bodies and
// calls. Not here: what one op becomes (the rules of a target).
#pragma once

#include "compiler/target/body_lowering.h"
#include "mlir/IR/BuiltinOps.h"

namespace firn::target {

/// Appends a task.program for the entries of `module` that are on `target` to it. The graph stays as it is. Fails with
/// diagnostics.
mlir::LogicalResult lowerModule(mlir::ModuleOp module, const Target& target, const ProgramShape& shape,
                                const LoweringChoices& choices);

}  // namespace firn::target
