// The bias of the projection to keys, where the cache holds keys without it. Qwen2 has biases a hundred times as large
// as the rest of a key: one int8 scale for both would round the rest away. Rope turns a sum as the sum of what it
// turns, so the attention can add the bias, turned to the position of a row, when it reads that row.
#pragma once

#include <optional>

#include "base/dtype.h"
#include "compiler/ir/graph.h"

namespace firn::target {

struct KeyBias {
  graph::LinearOp projection;  ///< has a bias, which its tasks leave out
  graph::RopeOp rope;          ///< of the keys
};

/// True when the bias of `linear` is left to the attention: the cache is i8, nothing but rope stands between the linear
/// and the cache, and every reader of the cache takes it as keys.
bool leavesBiasToAttention(DType kvType, graph::LinearOp linear);

/// The bias that `attention` has to add to the keys it reads; nullopt: none.
std::optional<KeyBias> keyBiasOf(DType kvType, graph::AttentionOp attention);

}  // namespace firn::target
