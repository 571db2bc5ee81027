// Prompts of a session: what of them is cached, and the chunks that compute the rest.
#include <algorithm>
#include <chrono>

#include "engine/prefix_store.h"
#include "engine/session.h"
#include "engine/token_ids.h"

namespace firn::engine {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Result<PrefillPlan> Session::plan(uint32_t tokens) const {
  return planPrefill(model_->variants(), position_, tokens, model_->limits().kvRows);
}

uint32_t Session::restore(std::span<const int32_t> ids, uint32_t cached, PrefixStore& prefixes) {
  const PrefixStore::Match match = prefixes.find(ids);
  if (match.tokens <= cached) return cached;
  layout_.unpack(match.rows, match.stored, {cached, match.tokens}, cache_);
  times_.bytesCopied += layout_.packedBytes(match.tokens - cached);
  adopt(ids.first(match.tokens), match.tokens);
  return match.tokens;
}

Result<uint32_t> Session::reuse(std::span<const int32_t> ids, PrefixStore* prefixes) {
  FIRN_RETURN_IF_ERROR(checkPrompt(ids, 0, model_->limits()));
  if (prefixes != nullptr && &prefixes->model() != model_.get()) {
    return invalidArgument("the prefix store is of another model than the session");
  }
  const auto start = Clock::now();
  times_ = {};
  preparePages(static_cast<uint32_t>(ids.size()));
  // The last token is always computed: its logits are not kept.
  const auto matched = ids.first(ids.size() - 1);
  const auto exact = std::span<const int32_t>(ids_).first(exactTokens_);
  uint32_t cached = commonPrefix(matched, exact);
  FIRN_RETURN_IF_ERROR(rewind(cached));
  if (prefixes != nullptr) cached = restore(matched, cached, *prefixes);
  times_.planNanoseconds = nanosecondsSince(start);
  return cached;
}

Result<Session::Prompted> Session::prompt(std::span<const int32_t> ids, const PromptOptions& options) {
  FIRN_ASSIGN_OR_RETURN(const uint32_t cached, reuse(ids, options.prefixes));
  FIRN_ASSIGN_OR_RETURN(const std::span<const float> logits, append(ids.subspan(cached), options.progress));
  return Prompted{logits, cached};
}

Result<std::span<const float>> Session::prefill(std::span<const int32_t> ids, const Progress& progress) {
  FIRN_RETURN_IF_ERROR(checkPrompt(ids, position_, model_->limits()));
  times_ = {};
  preparePages(position_ + static_cast<uint32_t>(ids.size()));
  return append(ids, progress);
}

Result<std::span<const float>> Session::append(std::span<const int32_t> ids, const Progress& progress) {
  const auto planStart = Clock::now();
  FIRN_ASSIGN_OR_RETURN(const PrefillPlan plan, this->plan(static_cast<uint32_t>(ids.size())));
  times_.planNanoseconds += nanosecondsSince(planStart);
  times_.chunks.reserve(plan.steps.size());
  const uint32_t start = position_;
  for (const PlanStep& step : plan.steps) {
    if (progress && !progress(step.row0 - start, static_cast<uint32_t>(ids.size()))) {
      return cancelled("the prompt was cancelled after " + std::to_string(step.row0 - start) + " tokens");
    }
    FIRN_RETURN_IF_ERROR(runChunk(step, ids.subspan(step.row0 - start, step.valid)));
  }
  return lastLogits(plan.steps.back());
}

Result<Session::Chunk> Session::appendChunk(std::span<const int32_t> ids, uint64_t maxPicoseconds) {
  FIRN_RETURN_IF_ERROR(checkPrompt(ids, position_, model_->limits()));
  const auto start = Clock::now();
  const auto count = static_cast<uint32_t>(ids.size());
  FIRN_ASSIGN_OR_RETURN(const PrefillPlan plan,
                        planPrefill(model_->variants(), position_, count, model_->limits().kvRows, maxPicoseconds));
  times_.planNanoseconds += nanosecondsSince(start);
  const PlanStep& step = plan.steps.front();
  FIRN_RETURN_IF_ERROR(runChunk(step, ids.first(step.valid)));
  if (step.valid < count) return Chunk{.tokens = step.valid};
  FIRN_ASSIGN_OR_RETURN(const std::span<const float> logits, lastLogits(step));
  return Chunk{.tokens = step.valid, .logits = logits};
}

Status Session::runChunk(const PlanStep& step, std::span<const int32_t> ids) {
  const auto start = Clock::now();
  FIRN_RETURN_IF_ERROR(runStep(step, ids));
  times_.chunks.push_back({step.variant->entry, step.row0, step.valid, step.variant->cost, nanosecondsSince(start)});
  return Status::ok();
}

Result<std::span<const float>> Session::lastLogits(const PlanStep& step) {
  if (!step.isGenerate) {
    const auto start = Clock::now();
    FIRN_RETURN_IF_ERROR(runHead(model_->variants().heads().front(), step.valid - 1));
    times_.headNanoseconds = nanosecondsSince(start);
  }
  return io().logits();
}

Status Session::evaluate(std::span<const int32_t> ids, const LogitsSink& sink) {
  FIRN_RETURN_IF_ERROR(checkPrompt(ids, position_, model_->limits()));
  FIRN_ASSIGN_OR_RETURN(const PrefillPlan plan, this->plan(static_cast<uint32_t>(ids.size())));
  preparePages(position_ + static_cast<uint32_t>(ids.size()));
  const uint32_t start = position_;
  for (const PlanStep& step : plan.steps) {
    FIRN_RETURN_IF_ERROR(runStep(step, ids.subspan(step.row0 - start, step.valid)));
    if (step.isGenerate) {
      FIRN_RETURN_IF_ERROR(sink(step.row0, 1, io().logits()));
    } else {
      FIRN_RETURN_IF_ERROR(headOfRows(step.valid, step.row0, sink));
    }
  }
  return Status::ok();
}

Status Session::headOfRows(uint32_t rows, uint32_t firstPosition, const LogitsSink& sink) {
  for (uint32_t done = 0; done < rows;) {
    const Variant& head = model_->variants().headFor(rows - done);
    const uint32_t count = std::min(head.rows, rows - done);
    FIRN_RETURN_IF_ERROR(runHead(head, done));
    FIRN_RETURN_IF_ERROR(sink(firstPosition + done, count, io().logits(count)));
    done += count;
  }
  return Status::ok();
}

}  // namespace firn::engine
