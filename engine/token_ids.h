// Questions about lists of token ids, prompts above all.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "engine/model.h"

namespace firn::engine {

/// How many ids both lists begin with.
uint32_t commonPrefix(std::span<const int32_t> a, std::span<const int32_t> b);

inline bool isInVocabulary(int32_t id, uint32_t vocab) { return id >= 0 && static_cast<uint32_t>(id) < vocab; }

/// out_of_range names the first id that a vocabulary of `vocab` ids lacks, and where it stands.
Status checkIds(std::span<const int32_t> ids, uint32_t vocab);

/// Whether `ids` can be a prompt behind `past` tokens: invalid_argument for none, out_of_range for more than
/// maxPromptTokens in all, and what checkIds says.
Status checkPrompt(std::span<const int32_t> ids, uint32_t past, const ModelLimits& limits);

}  // namespace firn::engine
