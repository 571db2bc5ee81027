// The residual stream of the cpu target: what is added to it, and how it leaves a body and an entry.
#pragma once

#include "compiler/target/body_lowering.h"

namespace firn::target {

/// graph.add: residual + partial sums, put off until somebody reads it, since that takes a barrier; or residual + what
/// every lane has a copy of, at once. Both in place.
mlir::LogicalResult lowerCpuAdd(BodyLowering& body, mlir::Operation* op);
/// Target::loadHidden. Every lane copies all rows into what will be its residual stream.
mlir::LogicalResult loadCpuHidden(BodyLowering& body, mlir::Value value);
/// Target::keepResult. The residual stream passes between bodies as it is: copies per lane, and maybe partial sums.
/// Their memory is the group's already: replicate() and lowerCpuLinear() see to it.
mlir::LogicalResult keepCpuResult(BodyLowering& body, mlir::Value value, unsigned index);
/// Target::storeOutput. Each lane finishes and writes its columns of the hidden rows.
mlir::LogicalResult storeCpuOutput(BodyLowering& body, mlir::Value value, blob::SymbolKind symbol);

}  // namespace firn::target
