// Questions about lists of token ids.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"

namespace firn::engine {

/// How many ids both lists begin with.
uint32_t commonPrefix(std::span<const int32_t> a, std::span<const int32_t> b);

inline bool isInVocabulary(int32_t id, uint32_t vocab) { return id >= 0 && static_cast<uint32_t>(id) < vocab; }

/// out_of_range names the first id that a vocabulary of `vocab` ids lacks, and where it stands.
Status checkIds(std::span<const int32_t> ids, uint32_t vocab);

}  // namespace firn::engine
