// Which programs of a module are for a machine.
#pragma once

#include "compiler/ir/task.h"
#include "compiler/target/targets.h"
#include "mlir/IR/BuiltinOps.h"

namespace firn::passes {

/// Those whose target needs one (Target::needsMachine).
inline llvm::SmallVector<task::ProgramOp> programsForMachines(mlir::ModuleOp module) {
  llvm::SmallVector<task::ProgramOp> programs;
  for (auto program : module.getOps<task::ProgramOp>()) {
    const target::Target* target = target::findTarget(program.getTarget());
    if (target != nullptr && target->needsMachine) programs.push_back(program);
  }
  return programs;
}

}  // namespace firn::passes
