// A session as the pipeline sees it.
#pragma once

#include <utility>

#include "engine/session.h"
#include "genai/text_engine.h"

namespace firn::tools {

/// Runs a genai pipeline on an engine session, which must outlive it. A prefill starts a new sequence with what it has
/// in common with the last one.
class SessionEngine : public genai::TextEngine {
 public:
  explicit SessionEngine(engine::Session& session, engine::Session::Progress progress = {})
      : session_(session), progress_(std::move(progress)) {}

  genai::EngineLimits limits() const override {
    const engine::ModelLimits& limits = session_.model().limits();
    return {.maxPromptTokens = limits.maxPromptTokens,
            .kvRows = limits.kvRows,
            .isEndless = session_.options().contextShift,
            .vocab = limits.vocab};
  }
  uint32_t position() const override { return session_.position(); }
  Result<std::span<const float>> prefill(std::span<const int32_t> ids) override {
    FIRN_ASSIGN_OR_RETURN(const engine::Session::Prompted prompted, session_.prompt(ids, {.progress = progress_}));
    cachedTokens_ = prompted.cachedTokens;
    return prompted.logits;
  }
  int32_t bestToken() const override {
    engine::ScoredToken best;
    return session_.best({&best, 1}) == 1 ? best.id : -1;
  }
  uint32_t cachedTokens() const override { return cachedTokens_; }
  Result<std::span<const float>> decode(int32_t id) override { return session_.decode(id); }

 private:
  engine::Session& session_;
  engine::Session::Progress progress_;
  uint32_t cachedTokens_ = 0;
};

}  // namespace firn::tools
