#include "tools/perplexity.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "genai/sampler/sampler.h"
#include "tools/counted.h"

namespace firn::tools {
namespace {

/// log of the sum of exp(logits), in double.
double logSumExp(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

/// KL(p || q) of the distributions that two rows of logits stand for, in nats.
double divergence(std::span<const float> p, std::span<const float> q) {
  const double pTotal = logSumExp(p);
  const double qTotal = logSumExp(q);
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double pLog = p[i] - pTotal;
    sum += std::exp(pLog) * (pLog - (q[i] - qTotal));
  }
  return sum;
}

/// The last id of a window is predicted but never run, so no session looks at it.
Status checkIds(std::span<const int32_t> ids, uint32_t vocab) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || static_cast<uint32_t>(ids[i]) >= vocab) {
      return outOfRange("token " + std::to_string(i) + " of the text is " + std::to_string(ids[i]) +
                        ": the model's vocabulary has the ids 0 to " + std::to_string(vocab - 1) +
                        "; ids of another model's tokenizer mean nothing here");
    }
  }
  return Status::ok();
}

/// Positions window/2 .. window-2 predict an id that is scored.
uint32_t scoredPositions(uint32_t window) { return window - 1 - window / 2; }
/// Of the windows that are compared with the reference.
Status checkComparison(const engine::Session& session, const PerplexityOptions& options) {
  if (options.reference == nullptr || options.klWindows == 0) return Status::ok();
  const uint32_t vocab = session.model().limits().vocab;
  const uint32_t referenceVocab = options.reference->model().limits().vocab;
  if (vocab != referenceVocab) {
    return invalidArgument("the reference has a vocabulary of " + std::to_string(referenceVocab) + ", the model of " +
                           std::to_string(vocab) + ": their answers cannot be compared");
  }
  const uint64_t bytes = uint64_t{scoredPositions(options.window)} * vocab * sizeof(float);
  if (bytes <= options.maxKeptBytes) return Status::ok();
  return resourceExhausted("comparing a window of " + std::to_string(options.window) +
                           " tokens with the reference takes " + std::to_string(bytes) +
                           " bytes for its logits, at most " + std::to_string(options.maxKeptBytes) +
                           " are used; choose a smaller --window, or compare none with --kl-windows 0");
}

/// Gives the logits f32[vocab] of every scored position of `window` to `visit`, with the position.
Status visitScored(engine::Session& session, std::span<const int32_t> window, const std::function<bool()>& goesOn,
                   const std::function<Status(uint32_t at, std::span<const float> row)>& visit) {
  const uint32_t vocab = session.model().limits().vocab;
  const auto first = static_cast<uint32_t>(window.size() / 2);
  FIRN_RETURN_IF_ERROR(session.rewind(0));
  // The last id predicts nothing that is scored.
  return session.evaluate(window.first(window.size() - 1),
                          [&](uint32_t at, uint32_t count, std::span<const float> logits) {
                            if (!goesOn()) return cancelled("stopped in the middle of a window");
                            for (uint32_t i = at >= first ? 0 : std::min(count, first - at); i < count; ++i) {
                              FIRN_RETURN_IF_ERROR(visit(at + i, logits.subspan(uint64_t{i} * vocab, vocab)));
                            }
                            return Status::ok();
                          });
}

std::string placeOf(uint32_t window, uint32_t position) {
  return "window " + std::to_string(window + 1) + ", position " + std::to_string(position);
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Status checkWindow(const PerplexityOptions& options, size_t tokens, uint32_t limit) {
  if (options.window < 4 || options.window % 2 != 0) {
    return invalidArgument("a window of " + std::to_string(options.window) +
                           " tokens: expected an even number of at least 4");
  }
  if (options.window > limit) {
    return outOfRange("a window of " + std::to_string(options.window) + " tokens is longer than the model's limit of " +
                      std::to_string(limit) + " for a prompt (max_prompt_len)");
  }
  if (tokens >= options.window) return Status::ok();
  return invalidArgument("the text has " + counted(tokens, "token") + ", less than one window of " +
                         std::to_string(options.window) + "; give a longer text, or a smaller --window");
}

Result<PerplexityResult> measurePerplexity(engine::Session& session, std::span<const int32_t> ids,
                                           const PerplexityOptions& options) {
  const engine::ModelLimits& limits = session.model().limits();
  FIRN_RETURN_IF_ERROR(checkWindow(options, ids.size(), limits.maxPromptTokens));
  FIRN_RETURN_IF_ERROR(checkIds(ids, limits.vocab));
  FIRN_RETURN_IF_ERROR(checkComparison(session, options));
  const size_t vocab = limits.vocab;
  const auto windows = static_cast<uint32_t>(std::min<size_t>(ids.size() / options.window, options.maxWindows));
  const uint32_t first = options.window / 2;
  const uint32_t positions = scoredPositions(options.window);
  PerplexityResult result;
  std::vector<float> kept;  // of a window that is compared, row after row
  for (uint32_t w = 0; w < windows; ++w) {
    const auto goesOn = [&] { return !options.progress || options.progress(w, windows); };
    if (!goesOn()) return cancelled("stopped after " + std::to_string(w) + " windows");
    const auto window = ids.subspan(size_t{w} * options.window, options.window);
    const bool isCompared = w < options.klWindows && options.reference != nullptr;
    if (isCompared) kept.resize(positions * vocab);
    double nll = 0;
    FIRN_RETURN_IF_ERROR(visitScored(session, window, goesOn, [&](uint32_t at, std::span<const float> row) {
      if (Status numbers = genai::checkLogits(row); !numbers.isOk()) return numbers.withPlace(placeOf(w, at));
      nll += logSumExp(row) - row[static_cast<size_t>(window[at + 1])];
      if (isCompared) std::ranges::copy(row, kept.begin() + static_cast<ptrdiff_t>((at - first) * vocab));
      return Status::ok();
    }));
    result.windowNll.push_back(nll / positions);
    result.scored += positions;
    if (!isCompared) continue;
    double kl = 0;
    FIRN_RETURN_IF_ERROR(visitScored(*options.reference, window, goesOn, [&](uint32_t at, std::span<const float> row) {
      if (Status numbers = genai::checkLogits(row); !numbers.isOk()) {
        return numbers.withPlace("the reference device, " + placeOf(w, at));
      }
      kl += divergence(row, std::span(kept).subspan((at - first) * vocab, vocab));
      return Status::ok();
    }));
    result.windowKl.push_back(kl / positions);
  }
  result.perplexity = std::exp(mean(result.windowNll));
  result.meanKl = mean(result.windowKl);
  return result;
}

}  // namespace firn::tools
