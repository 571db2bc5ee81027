// graph.attention and graph.cache_update on the npu.
#pragma once

#include <string>

#include "compiler/target/body_lowering.h"

namespace firn::target::npu {

mlir::LogicalResult lowerAttention(BodyLowering& body, mlir::Operation* op);
mlir::LogicalResult lowerCacheUpdate(BodyLowering& body, mlir::Operation* op);
/// Why the npu cannot run this attention or cache_update; empty when it can.
std::string whyNoAttention(mlir::Operation* op);
std::string whyNoCacheUpdate(mlir::Operation* op);

}  // namespace firn::target::npu
