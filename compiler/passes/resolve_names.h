// Addresses in place of the names of buffers and streams, in the operands of tasks.
#pragma once

#include "compiler/ir/task.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/Region.h"

namespace firn::passes {

using Addresses = llvm::StringMap<uint64_t>;  ///< by the names of buffers and streams

/// Those of the buffers and streams that stand in `region` and have one.
void addAddresses(mlir::Region& region, Addresses& addresses);

/// "@name" + offset becomes an offset alone, "@name:3" of cmx "3" and an offset. `own`: of the body's buffers, which
/// come before `shared`, those of the program; operands in weights name streams of the program alone. Names that are in
/// neither stay.
void resolveNames(task::RunOp run, const Addresses& own, const Addresses& shared);

}  // namespace firn::passes
