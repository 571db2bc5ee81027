#include "engine/prefill_plan.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace firn::engine {
namespace {

constexpr uint64_t kUnreached = std::numeric_limits<uint64_t>::max();

/// The last step of the cheapest cover of the first i tokens.
struct Reached {
  uint32_t misplaced = UINT32_MAX;  ///< steps of generate where prompts have a target of their own
  uint64_t cost = kUnreached;
  PlanStep step;
};

/// Costs come from the blob and may be anything: a sum stays below kUnreached, so that what is reached is known to be.
uint64_t sumOf(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kUnreached - 1 : std::min(sum, kUnreached - 1);
}

void relax(std::vector<Reached>& best, uint32_t from, const PlanStep& step, bool isMisplaced) {
  Reached& to = best[from + step.valid];
  const uint64_t cost = sumOf(best[from].cost, std::max<uint64_t>(step.variant->cost, 1));
  const uint32_t misplaced = best[from].misplaced + (isMisplaced ? 1 : 0);
  if (std::pair(misplaced, cost) < std::pair(to.misplaced, to.cost)) to = {misplaced, cost, step};
}

}  // namespace

Result<PrefillPlan> planPrefill(const VariantTable& variants, uint32_t row0, uint32_t tokens, uint32_t kvRows,
                                uint64_t maxPicoseconds) {
  if (tokens == 0) return invalidArgument("a plan needs at least one token");
  if (row0 > kvRows || tokens > kvRows - row0) {
    return outOfRange("rows " + std::to_string(row0) + " to " + std::to_string(uint64_t{row0} + tokens) +
                      " do not exist: the cache has " + std::to_string(kvRows) + " rows");
  }
  const uint64_t head = variants.heads().front().cost;
  std::vector<Reached> best(tokens + 1);
  best[0] = {.misplaced = 0, .cost = 0, .step = {}};
  for (uint32_t done = 0; done < tokens; ++done) {
    const uint32_t row = row0 + done;
    for (const uint32_t chunk : variants.chunks()) {
      if (chunk > kvRows - row) break;
      const uint32_t valid = std::min(chunk, tokens - done);
      // The whole chunk, not only its valid rows: devices refuse one that does not lie inside its context.
      const Variant* v = variants.prefillFor(chunk, row + chunk);
      if (v == nullptr) continue;
      const uint64_t cost = done + valid == tokens ? sumOf(v->cost, head) : v->cost;
      if (cost > maxPicoseconds && chunk != variants.chunks().front()) continue;
      relax(best, done, {v, row, valid, false}, false);
    }
    if (const Variant* v = variants.generateFor(row + 1)) {
      relax(best, done, {v, row, 1, true}, variants.hasPromptTarget());
    }
  }
  PrefillPlan plan;
  plan.picoseconds = best[tokens].cost;
  for (uint32_t at = tokens; at > 0; at -= best[at].step.valid) plan.steps.push_back(best[at].step);
  std::reverse(plan.steps.begin(), plan.steps.end());
  return plan;
}

}  // namespace firn::engine
