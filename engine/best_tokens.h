// The tokens with the largest logits, out of all of them or out of a list that a device made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace firn::engine {

struct ScoredToken {
  int32_t id = 0;
  float logit = 0;
  friend bool operator==(const ScoredToken&, const ScoredToken&) = default;
};

/// The best of `logits` in order, as many as `best` has room for; of equal ones the smaller id comes first, NaN never.
/// Returns how many there are. O(logits log best), allocates nothing.
size_t bestTokens(std::span<const float> logits, std::span<ScoredToken> best);

/// A list of the best as an entry leaves it (blob::SymbolKind::kTopLogits): in order, with ids of -1 behind the last.
struct TopList {
  std::span<const float> logits;
  std::span<const int32_t> ids;  ///< as many
};

/// The first of `list`, as many as `best` has room for; ends before an id outside the vocabulary, whoever wrote it.
size_t bestTokens(const TopList& list, uint32_t vocab, std::span<ScoredToken> best);

}  // namespace firn::engine
