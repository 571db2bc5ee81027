#include "genai/pipeline.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "genai/tokenizer/stream_decoder.h"

namespace firn::genai {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// One call of generate().
class Generation {
 public:
  Generation(TextEngine& engine, const Tokenizer* tokenizer, const GenerateOptions& options,
             const GenerateCallbacks& callbacks)
      : engine_(engine), tokenizer_(tokenizer), options_(options), callbacks_(callbacks) {
    if (tokenizer != nullptr) decoder_.emplace(*tokenizer);
  }

  Result<GenerateResult> run(std::span<const int32_t> promptIds) {
    const auto start = Clock::now();
    FIRN_ASSIGN_OR_RETURN(Sampler sampler, Sampler::make(options_.sampler));
    FIRN_RETURN_IF_ERROR(checkBudget(promptIds));
    result_.promptTokens = promptIds.size();
    if (isCancelled()) return interrupted();
    const Result<std::span<const float>> prompted = engine_.prefill(promptIds);
    result_.ttftMs = 1e3 * secondsSince(start);
    if (!prompted && prompted.status().code() == Code::kCancelled && isCancelled()) return interrupted();
    if (!prompted) return prompted.status();
    result_.cachedTokens = engine_.cachedTokens();
    if (budget_ == 0) return std::move(result_);

    FIRN_ASSIGN_OR_RETURN(int32_t id, nextId(sampler, *prompted));
    const auto firstToken = Clock::now();
    result_.ttftMs = 1e3 * std::chrono::duration<double>(firstToken - start).count();
    FIRN_ASSIGN_OR_RETURN(bool more, accept(id));
    while (more && !isCancelled()) {
      FIRN_ASSIGN_OR_RETURN(const std::span<const float> logits, engine_.decode(id));
      FIRN_ASSIGN_OR_RETURN(id, nextId(sampler, logits));
      FIRN_ASSIGN_OR_RETURN(more, accept(id));
    }
    const double seconds = secondsSince(firstToken);
    const size_t decoded = result_.tokens.size() - 1;
    if (decoded > 0 && seconds > 0) result_.decodeTokensPerS = static_cast<double>(decoded) / seconds;
    return more ? interrupted() : std::move(result_);
  }

 private:
  /// How many tokens may be produced: the last one takes no row.
  Status checkBudget(std::span<const int32_t> promptIds) {
    if (promptIds.empty()) return invalidArgument("the prompt has no tokens: give at least one");
    const EngineLimits limits = engine_.limits();
    for (const int32_t id : options_.endIds) {
      if (id < 0 || static_cast<uint32_t>(id) >= limits.vocab) {
        return invalidArgument("end token id " + std::to_string(id) + " of a vocabulary of " +
                               std::to_string(limits.vocab));
      }
    }
    // A prompt over the limits is refused by the engine, which names them.
    const uint64_t rows = limits.kvRows >= promptIds.size() ? limits.kvRows - promptIds.size() + 1 : 0;
    budget_ = limits.isEndless ? options_.maxTokens : std::min(options_.maxTokens, rows);
    return Status::ok();
  }

  bool isCancelled() const { return options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed); }

  /// What there is so far.
  GenerateResult interrupted() {
    result_.finishReason = FinishReason::kInterrupted;
    return std::move(result_);
  }

  Result<int32_t> nextId(Sampler& sampler, std::span<const float> logits) const {
    Result<int32_t> id = sampler.sample(logits, engine_.bestToken());
    if (!id) return id.status().withPlace("token " + std::to_string(result_.tokens.size() + 1) + " of the answer");
    return id;
  }

  bool isEnd(int32_t id) const {
    if (options_.ignoreEos) return false;
    if (tokenizer_ != nullptr && tokenizer_->isEndId(id)) return true;
    return std::find(options_.endIds.begin(), options_.endIds.end(), id) != options_.endIds.end();
  }

  /// Takes a token in; false if it is the last.
  Result<bool> accept(int32_t id) {
    result_.tokens.push_back(id);
    if (callbacks_.onToken && !callbacks_.onToken(id)) return cancelledByCallback();
    if (isEnd(id)) {
      result_.finishReason = FinishReason::kStop;
      return false;
    }
    // A head may be wider than the vocabulary: such an id has no text.
    if (decoder_ && static_cast<uint32_t>(id) < tokenizer_->image().tokenCount()) {
      FIRN_ASSIGN_OR_RETURN(const std::string piece, decoder_->push(id));
      result_.text += piece;
      if (!piece.empty() && callbacks_.onText && !callbacks_.onText(piece)) return cancelledByCallback();
    }
    return result_.tokens.size() < budget_;
  }

  Status cancelledByCallback() const {
    return cancelled("generation was stopped by its receiver after " + std::to_string(result_.tokens.size()) +
                     " tokens");
  }

  TextEngine& engine_;
  const Tokenizer* tokenizer_;
  const GenerateOptions& options_;
  const GenerateCallbacks& callbacks_;
  std::optional<StreamDecoder> decoder_;
  GenerateResult result_;
  uint64_t budget_ = 0;
};

}  // namespace

std::string_view finishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kInterrupted: return "interrupted";
  }
  return {};
}

Result<GenerateResult> generate(TextEngine& engine, const Tokenizer* tokenizer, std::span<const int32_t> promptIds,
                                const GenerateOptions& options, const GenerateCallbacks& callbacks) {
  return Generation(engine, tokenizer, options, callbacks).run(promptIds);
}

}  // namespace firn::genai
