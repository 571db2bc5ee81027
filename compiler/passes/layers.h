// Where the decoder layers of a static entry lie, found by structure alone: no name, no architecture.
// Not here: making bodies and calls of them (fold.cc).
#pragma once

#include "compiler/ir/graph.h"

namespace firn::passes {

/// One layer: ops [first, last] of the block, which read the residual stream `input` and leave it as `output`.
struct LayerSpan {
  mlir::Operation* first = nullptr;
  mlir::Operation* last = nullptr;
  mlir::Value input;
  mlir::Value output;
};

/// The layers of a prefill, generate or batch entry, in order. A cut is a point between two ops where exactly one value
/// made by an op before it is still needed after it (results that are only returned do not count, except the hidden
/// rows of a prefill), and that value is a matrix. A layer begins at the last cut before its cache ops and ends where
/// the next begins; the last one ends at the cut of `hidden`. Cost: linear in the ops. Empty when there is no such
/// point.
llvm::SmallVector<LayerSpan> findLayers(graph::FuncOp entry, mlir::Value hidden);

}  // namespace firn::passes
