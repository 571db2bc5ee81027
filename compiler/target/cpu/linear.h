// Matrix products of the cpu target: which lane computes what, on which input, into which memory.
#pragma once

#include "compiler/target/body_lowering.h"

namespace firn::target {

/// graph.linear: rows split for an input that every lane has, columns split for an input that is split.
mlir::LogicalResult lowerCpuLinear(BodyLowering& body, mlir::Operation* op);
/// The logits that each lane makes.
std::vector<Range> splitVocabulary(int64_t vocab, int lanes);
/// graph.head: logits, split by panels of the vocabulary, straight into the symbol.
mlir::LogicalResult lowerCpuHead(BodyLowering& body, mlir::Operation* op);

}  // namespace firn::target
