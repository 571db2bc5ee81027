// A TextEngine without a model, for tests of the pipeline and of what stands on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "genai/text_engine.h"

namespace firn::genai {

/// Answers with a script: after n tokens in all, the largest logit is that of `next(tokens)`; the others are 0. Where
/// it says kNan, all are NaN. Keeps the contract of TextEngine: limits, refusals, rows.
class EngineFake : public TextEngine {
 public:
  static constexpr int32_t kNan = -1;
  using Next = std::function<int32_t(std::span<const int32_t> tokens)>;

  EngineFake(EngineLimits limits, Next next) : limits_(limits), next_(std::move(next)), logits_(limits.vocab) {}

  EngineLimits limits() const override { return limits_; }
  uint32_t position() const override { return static_cast<uint32_t>(tokens_.size()); }
  uint32_t cachedTokens() const override { return cachedTokens_; }

  Result<std::span<const float>> prefill(std::span<const int32_t> ids) override {
    if (ids.empty()) return invalidArgument("the prompt has no tokens: give at least one");
    if (ids.size() > limits_.maxPromptTokens) {
      return outOfRange("prompt has " + std::to_string(ids.size()) + " tokens, the limit is " +
                        std::to_string(limits_.maxPromptTokens));
    }
    FIRN_RETURN_IF_ERROR(checkIds(ids));
    const auto limit = static_cast<ptrdiff_t>(std::min(tokens_.size(), ids.size() - 1));
    cachedTokens_ =
        static_cast<uint32_t>(std::mismatch(ids.begin(), ids.begin() + limit, tokens_.begin()).first - ids.begin());
    tokens_.assign(ids.begin(), ids.end());
    return logits();
  }

  Result<std::span<const float>> decode(int32_t id) override {
    FIRN_RETURN_IF_ERROR(checkIds(std::span(&id, 1)));
    if (tokens_.size() >= limits_.kvRows) {
      if (!limits_.isEndless) {
        return resourceExhausted("all " + std::to_string(limits_.kvRows) + " rows are in use");
      }
      // Room for a while, as a context shift makes it.
      tokens_.erase(tokens_.begin(), tokens_.begin() + std::max<ptrdiff_t>(1, limits_.kvRows / 4));
    }
    tokens_.push_back(id);
    return logits();
  }

  int32_t bestToken() const override { return best_; }

  /// The tokens whose rows are in use.
  const std::vector<int32_t>& tokens() const { return tokens_; }

 private:
  Status checkIds(std::span<const int32_t> ids) const {
    for (const int32_t id : ids) {
      if (id < 0 || static_cast<uint32_t>(id) >= limits_.vocab) return outOfRange("token id " + std::to_string(id));
    }
    return Status::ok();
  }

  std::span<const float> logits() {
    const int32_t next = next_(tokens_);
    best_ = next;  // kNan too
    logits_.assign(limits_.vocab, next == kNan ? std::numeric_limits<float>::quiet_NaN() : 0.0F);
    if (next != kNan) logits_[static_cast<size_t>(next)] = 8.0F;
    return logits_;
  }

  EngineLimits limits_;
  Next next_;
  std::vector<int32_t> tokens_;
  uint32_t cachedTokens_ = 0;
  std::vector<float> logits_;
  int32_t best_ = kNan;
};

}  // namespace firn::genai
