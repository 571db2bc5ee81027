#include "compiler/target/top_k_rule.h"

#include "compiler/ir/graph.h"

namespace firn::target {

std::string whyNoTopK(mlir::Operation* op) {
  const bool isOfLogits = llvm::cast<graph::TopKOp>(op).getInput().getDefiningOp<graph::HeadOp>() != nullptr;
  return isOfLogits ? "" : "it has top_k only of the logits of a head";
}

}  // namespace firn::target
