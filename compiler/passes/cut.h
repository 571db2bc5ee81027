// Cuts an entry into functions that run one after the other, each on its device. Part of phase "place".
// Not here: where to cut, and on which device a part runs (place.cc).
#pragma once

#include <string>

#include "compiler/ir/graph.h"

namespace firn::passes {

/// Ops of an entry, in order, that run on one device.
struct Part {
  llvm::SmallVector<mlir::Operation*> ops;
  std::string device;
  std::string reason;
};

/// Puts a function for each part in the place of `entry`. Each takes the arguments that its ops read and, from the
/// second on, the hidden rows of the one before; it gives the hidden rows for the next (the last one what the entry
/// gave) and the caches that it updates. Errors: graph.place_c4 (something else than hidden rows is alive at a cut).
mlir::LogicalResult cutEntry(graph::FuncOp entry, llvm::ArrayRef<Part> parts);

}  // namespace firn::passes
