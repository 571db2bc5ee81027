// Perplexity of a text, and how far one model's answers lie from another's.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/session.h"

namespace firn::tools {

/// Windows of `window` ids each; in each window positions window/2 .. window-2 are scored, each predicting the next id.
struct PerplexityResult {
  std::vector<double> windowNll;  ///< mean negative log-likelihood (natural log) of each window
  uint64_t scored = 0;            ///< positions scored in all
  double perplexity = 0;          ///< exp of the mean of windowNll
  std::vector<double> windowKl;   ///< mean KL(reference || model) of each window compared, in nats
  double meanKl = 0;
};

struct PerplexityOptions {
  uint32_t window = 512;
  uint32_t maxWindows = UINT32_MAX;  ///< windows scored, from the first
  uint32_t klWindows = 0;            ///< windows compared with the reference, from the first; needs `reference`
  engine::Session* reference = nullptr;
  uint64_t maxKeptBytes = uint64_t{2} << 30;  ///< of logits, which a window that is compared keeps; no other does
  /// Called before each window and between its chunks; false cancels.
  std::function<bool(uint32_t done, uint32_t total)> progress = {};
};

/// Whether a text of `tokens` tokens has a window, and a model whose prompts have at most `limit` tokens can run it:
/// the first refusals of measurePerplexity, which need no session.
Status checkWindow(const PerplexityOptions& options, size_t tokens, uint32_t limit);

/// Scores `ids` with `session`. Log-probabilities are computed in double from the f32 logits. invalid_argument when the
/// text has no whole window or the window is no even number of at least 4, or the vocabularies differ; out_of_range
/// when the window is longer than the model's prompts or an id is outside the vocabulary; resource_exhausted when a
/// window that is compared keeps more than maxKeptBytes. All but corrupt (a logit that is no number) before any work.
Result<PerplexityResult> measurePerplexity(engine::Session& session, std::span<const int32_t> ids,
                                           const PerplexityOptions& options);

}  // namespace firn::tools
