#include "engine/best_tokens.h"

#include <algorithm>

#include "engine/token_ids.h"

namespace firn::engine {

size_t bestTokens(std::span<const float> logits, std::span<ScoredToken> best) {
  const auto isBetter = [](const ScoredToken& a, const ScoredToken& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  size_t count = 0;  // a heap with the worst of them in front
  for (size_t id = 0; id < logits.size() && !best.empty(); ++id) {
    const float logit = logits[id];
    if (logit != logit) continue;
    if (count == best.size()) {
      if (logit <= best.front().logit) continue;
      std::pop_heap(best.begin(), best.end(), isBetter);
      --count;
    }
    best[count++] = {static_cast<int32_t>(id), logit};
    std::push_heap(best.begin(), best.begin() + static_cast<ptrdiff_t>(count), isBetter);
  }
  std::sort_heap(best.begin(), best.begin() + static_cast<ptrdiff_t>(count), isBetter);
  return count;
}

size_t bestTokens(const TopList& list, uint32_t vocab, std::span<ScoredToken> best) {
  const size_t room = std::min(list.ids.size(), best.size());
  size_t count = 0;
  while (count < room && isInVocabulary(list.ids[count], vocab)) {
    best[count] = {list.ids[count], list.logits[count]};
    ++count;
  }
  return count;
}

}  // namespace firn::engine
