// Tilings as attributes of the graph, which the pass `strategy` writes and `lower` reads.
#pragma once

#include "compiler/target/npu/attention_tiling.h"
#include "compiler/target/npu/linear_tiling.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace firn::target::npu {

mlir::DictionaryAttr tilingAttr(mlir::MLIRContext* context, const LinearTiling& tiling);
mlir::DictionaryAttr tilingAttr(mlir::MLIRContext* context, const AttentionTiling& tiling);

/// The tiling of a linear layer; failure after a diagnostic where it has none.
mlir::FailureOr<LinearTiling> linearTilingOf(mlir::Operation* op);
/// The same of an attention.
mlir::FailureOr<AttentionTiling> attentionTilingOf(mlir::Operation* op);

}  // namespace firn::target::npu
