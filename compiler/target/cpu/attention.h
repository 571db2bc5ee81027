// Heads of the cpu target, which are split among lanes: their rope, their rows of the cache, their attention.
#pragma once

#include "compiler/target/body_lowering.h"

namespace firn::target {

/// graph.rope: each lane turns its heads in place, from the table of the whole cache.
mlir::LogicalResult lowerCpuRope(BodyLowering& body, mlir::Operation* op);
/// graph.cache_update: each lane writes the rows of its KV heads.
mlir::LogicalResult lowerCpuCacheUpdate(BodyLowering& body, mlir::Operation* op);
/// graph.attention: each lane its heads, over the KV heads that these use, behind the barrier after their rows.
mlir::LogicalResult lowerCpuAttention(BodyLowering& body, mlir::Operation* op);

}  // namespace firn::target
