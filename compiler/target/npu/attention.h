// graph.attention and graph.cache_update on the npu.
#pragma once

#include "compiler/target/body_lowering.h"

namespace firn::target::npu {

mlir::LogicalResult lowerAttention(BodyLowering& body, mlir::Operation* op);
mlir::LogicalResult lowerCacheUpdate(BodyLowering& body, mlir::Operation* op);

}  // namespace firn::target::npu
