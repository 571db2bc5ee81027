// What every target asks of graph.top_k.
#pragma once

#include <string>

namespace mlir {
class Operation;
}

namespace firn::target {

/// Why no target can run this one: its lists are symbols of the entry, and say which of its logits are best. Empty: it
/// can.
std::string whyNoTopK(mlir::Operation* op);

}  // namespace firn::target
