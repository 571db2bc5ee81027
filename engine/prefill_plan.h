// Covers a prompt with the cheapest sequence of static chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "engine/variants.h"

namespace firn::engine {

/// One submission of a plan: `valid` tokens into cache rows [row0, row0 + valid).
struct PlanStep {
  const Variant* variant = nullptr;
  uint32_t row0 = 0;
  uint32_t valid = 0;
  bool isGenerate = false;  ///< a generate entry used as a chunk of one token; its logits are those of the token
};

/// The plan and its predicted time.
struct PrefillPlan {
  std::vector<PlanStep> steps;
  uint64_t picoseconds = 0;
};

/// Covers `tokens` >= 1 tokens that go to rows [row0, row0 + tokens) of a cache of `kvRows` rows. A chunk of m runs
/// in the smallest context that holds all m rows, which T, the last, does where row0 + m <= kvRows; generate counts as
/// a chunk of one, unless prefill runs on a target of its own: then only the rows that no chunk fits are generated.
/// Shortest path over the positions, O(tokens x variants x chunk sizes) time, O(tokens) memory. invalid_argument: no
/// tokens; out_of_range: the rows do not exist. Chunks that are predicted to take more than `maxPicoseconds`, with the
/// head where they end the prompt, are not used; generate steps and chunks of the smallest size always may be: without
/// them a prompt would go on token by token.
Result<PrefillPlan> planPrefill(const VariantTable& variants, uint32_t row0, uint32_t tokens, uint32_t kvRows,
                                uint64_t maxPicoseconds = UINT64_MAX);

}  // namespace firn::engine
