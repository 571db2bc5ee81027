// The list of targets. Not here: what a target is (target.h).
#pragma once

#include "compiler/target/target.h"
#include "llvm/ADT/ArrayRef.h"

namespace firn::target {

/// Every target, in the order of their names.
llvm::ArrayRef<const Target*> allTargets();

/// The target of that name; null when there is none (blob::targetNames lists them).
const Target* findTarget(llvm::StringRef name);

}  // namespace firn::target
