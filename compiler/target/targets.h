// The list of targets. Not here: what a target is (target.h).
#pragma once

#include "compiler/target/target.h"
#include "llvm/ADT/ArrayRef.h"

namespace firn::target {

/// Every target, in the order of their names.
llvm::ArrayRef<const Target*> allTargets();

/// The target of that name; null when there is none (blob::targetNames lists them).
const Target* findTarget(llvm::StringRef name);

/// The target that `func` was placed on; null where it was not, or on none that there is.
const Target* targetOf(mlir::Operation* func);

/// Target::needsMachine, of the target of `func`.
bool needsMachine(mlir::Operation* func);

}  // namespace firn::target
