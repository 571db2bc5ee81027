// The best logits on the cpu target.
#pragma once

#include "compiler/target/body_lowering.h"

namespace firn::target {

/// graph.top_k: every lane lists the best of the logits that it made itself, one lane merges the lists.
mlir::LogicalResult lowerCpuTopK(BodyLowering& body, mlir::Operation* op);

}  // namespace firn::target
