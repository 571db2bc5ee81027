#include "engine/token_ids.h"

#include <algorithm>

#include "base/concat.h"

namespace firn::engine {

uint32_t commonPrefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<uint32_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

Status checkIds(std::span<const int32_t> ids, uint32_t vocab) {
  const auto lacking = std::ranges::find_if_not(ids, [&](int32_t id) { return isInVocabulary(id, vocab); });
  if (lacking == ids.end()) return Status::ok();
  return outOfRange(
      concat("token ", lacking - ids.begin(), " has id ", *lacking, "; the vocabulary has ids 0 to ", vocab - 1));
}

Status checkPrompt(std::span<const int32_t> ids, uint32_t past, const ModelLimits& limits) {
  if (ids.empty()) return invalidArgument("the prompt has no tokens: give at least one");
  const uint32_t limit = limits.maxPromptTokens;
  if (ids.size() > limit || past > limit - ids.size()) {
    const std::string before = past == 0 ? "" : concat(" (", past, " of them in the cache)");
    return outOfRange(concat("the prompt has ", past + ids.size(), " tokens", before, ", the limit is ", limit,
                             " (max_prompt_len): shorten it or compile with a larger --max-prompt-len"));
  }
  return checkIds(ids, limits.vocab);
}

}  // namespace firn::engine
