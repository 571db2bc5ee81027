// Phase "import": a model as data (compiler/import/model_spec.h) becomes a stateful graph with a dynamic token count.
// Not here: reading files (compiler/import), anything an architecture decides (it is in the spec).
#pragma once

#include "compiler/import/model_spec.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace firn::passes {

struct GraphOptions {
  /// The weights of the norms of queries and keys are evened (compiler/import/even_norms.h) and become constants of the
  /// module, where a layer has both: for caches of i8. Default: as in the file.
  bool evensHeadNorms = false;
};

/// The module of `spec`, not verified yet (what does not verify is a bug of the reader that made the spec):
/// graph.model, one graph.weight per tensor (by its name in the file; no bytes are copied, but for what `options` asks
/// to change), two graph.state per layer and @model(ids, positions) -> logits. Loads the dialect into `context`. On a
/// spec that is no model: a diagnostic that begins "graph.import_c<n>", and null. Labels: c1 a hyper-parameter out of
/// range, c2 rope, c3 a tensor whose shape does not fit.
mlir::OwningOpRef<mlir::ModuleOp> buildGraph(const import::ModelSpec& spec, mlir::MLIRContext& context,
                                             const GraphOptions& options = {});

}  // namespace firn::passes
