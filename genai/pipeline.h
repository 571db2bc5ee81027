// From prompt ids to generated text: the loop of prefill, sample, stream, decode, stop. Over any TextEngine.
// Not here: chat templates, HTTP, running tensors.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "genai/sampler/sampler.h"
#include "genai/text_engine.h"
#include "genai/tokenizer/tokenizer.h"

namespace firn::genai {

/// maxTokens: as many as the KV rows allow, or without end where the engine makes room.
inline constexpr uint64_t kNoTokenLimit = UINT64_MAX;

/// How to generate.
struct GenerateOptions {
  uint64_t maxTokens = kNoTokenLimit;  ///< 0: run the prompt, produce nothing
  SamplerOptions sampler = {};         ///< greedy by default
  bool ignoreEos = false;              ///< true: end tokens are like any other
  /// Ids to stop at besides the tokenizer's; the only ones without a tokenizer.
  std::vector<int32_t> endIds = {};
  /// Set from any thread to stop before the next step, kInterrupted with what there is by then. May be null.
  const std::atomic<bool>* cancel = nullptr;
};

/// Why generation ended.
enum class FinishReason {
  kStop,         ///< an end token
  kLength,       ///< maxTokens, or no KV row left
  kInterrupted,  ///< GenerateOptions::cancel, or the engine in the middle of a prompt because of it
};

/// "stop" or "length", as in the OpenAI interface; "interrupted".
std::string_view finishReasonName(FinishReason reason);

/// What was generated.
struct GenerateResult {
  std::string text;  ///< without the end token and without an incomplete last character; empty if no tokenizer
  std::vector<int32_t> tokens;  ///< the end token that stopped it included
  uint64_t promptTokens = 0;
  /// Of the prompt: those whose rows were kept from the sequence before; 0 if interrupted in the prompt.
  uint64_t cachedTokens = 0;
  FinishReason finishReason = FinishReason::kLength;
  double ttftMs = 0;            ///< from the call to the first token; to the end of prefill if there is none
  double decodeTokensPerS = 0;  ///< tokens after the first, per second of the time after the first; 0 if there are none
};

/// Called with each new piece of text (never empty, whole characters) on the calling thread; false stops generation
/// with cancelled. Not called without a tokenizer.
using TextCallback = std::function<bool(std::string_view piece)>;
/// Called with each token, before its text; false stops likewise.
using TokenCallback = std::function<bool(int32_t id)>;

/// Where results go while they come. Either may be empty.
struct GenerateCallbacks {
  TextCallback onText;
  TokenCallback onToken;
};

/// Generates from `promptIds`; `tokenizer` may be null: ids only. With n prompt tokens at most T - n + 1 tokens are
/// produced, since the last needs no row. Fails, before any work, with invalid_argument: a prompt without tokens, a bad
/// sampler option, an end id outside the vocabulary; with the engine's errors; with cancelled when a callback says so.
Result<GenerateResult> generate(TextEngine& engine, const Tokenizer* tokenizer, std::span<const int32_t> promptIds,
                                const GenerateOptions& options = {}, const GenerateCallbacks& callbacks = {});

}  // namespace firn::genai
