// Where a model's layers end: the residual stream that the last norm and the head turn into logits.
// Not here: where its layers begin (layers.cc).
#pragma once

#include "compiler/ir/graph.h"

namespace firn::passes {

/// The value that the last norm reads, when result 0 of `func` is made from it by a norm, a head and ops of one operand
/// only. Null when it is not.
mlir::Value hiddenBehindLogits(graph::FuncOp func);

/// The only function of `module`, when it is named @model and has not been frozen yet; null otherwise.
graph::FuncOp findModel(mlir::Operation* module);

}  // namespace firn::passes
