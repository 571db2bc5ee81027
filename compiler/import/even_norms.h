// Norms of heads for a cache whose rows have one scale each (i8). The weights of a key norm may differ by ten within a
// head, and the few large ones then set the scale of all. RoPE turns columns in pairs, so both columns of a pair of
// keys may be multiplied by a number and those of queries divided by it: every product of a query and a key stays, and
// the columns of a key become alike. No MLIR. Not here: when it is done (compiler/passes/import_model.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/import/model_spec.h"

namespace firn::import {

/// f32 [headDim] each.
struct HeadNorms {
  std::vector<float> q, k;
};

/// The norms of `layer` with every pair of key weights brought to a root mean square in [sqrt(1/2), sqrt(2)), a column
/// that `rope` does not turn by itself; weights of 0 stay. The factors are powers of two, so that fp32 products of
/// queries and keys are the same bits. nullopt: there is no pair of norms f32 [headDim], or a weight is no finite
/// number or would lose bits.
std::optional<HeadNorms> evenHeadNorms(const LayerSpec& layer, const RopeSpec& rope, uint32_t headDim);

}  // namespace firn::import
