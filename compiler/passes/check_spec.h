// The numbers of a ModelSpec, before a graph is built of them. Part of phase "import", without MLIR.
// Not here: the shapes of its tensors (import_model.cc).
#pragma once

#include "base/status.h"
#include "compiler/import/model_spec.h"

namespace firn::passes {

/// graph.import_c1 (a hyper-parameter out of range) or graph.import_c2 (a rope that does not fit) at the start of the
/// message.
Status checkSpec(const import::ModelSpec& spec);

}  // namespace firn::passes
