#include "tools/perplexity.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

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
                        ": the model's vocabulary has " + std::to_string(vocab) +
                        " ids; the tokenizer is of another model");
    }
  }
  return Status::ok();
}

Status checkWindow(const engine::Session& session, std::span<const int32_t> ids, const PerplexityOptions& options) {
  const uint32_t limit = session.model().limits().maxPromptTokens;
  if (options.window < 4 || options.window % 2 != 0) {
    return invalidArgument("a window of " + std::to_string(options.window) +
                           " tokens: expected an even number of at least 4");
  }
  if (options.window > limit) {
    return outOfRange("a window of " + std::to_string(options.window) + " tokens is longer than the model's limit of " +
                      std::to_string(limit) + " for a prompt (max_prompt_len)");
  }
  if (ids.size() < options.window) {
    return invalidArgument("the text has " + std::to_string(ids.size()) + " tokens, less than one window of " +
                           std::to_string(options.window));
  }
  FIRN_RETURN_IF_ERROR(checkIds(ids, session.model().limits().vocab));
  if (options.reference == nullptr || options.klWindows == 0) return Status::ok();
  const uint32_t vocab = options.reference->model().limits().vocab;
  if (vocab == session.model().limits().vocab) return Status::ok();
  return invalidArgument("the reference has a vocabulary of " + std::to_string(vocab) + ", the model of " +
                         std::to_string(session.model().limits().vocab) + ": their answers cannot be compared");
}

/// The logits of every scored position of one window, row after row.
Result<std::vector<float>> scoredLogits(engine::Session& session, std::span<const int32_t> window,
                                        const std::function<bool()>& goesOn) {
  const uint32_t vocab = session.model().limits().vocab;
  const auto first = static_cast<uint32_t>(window.size() / 2);
  std::vector<float> rows;
  rows.reserve((window.size() - 1 - first) * uint64_t{vocab});
  FIRN_RETURN_IF_ERROR(session.rewind(0));
  // The last id predicts nothing that is scored.
  FIRN_RETURN_IF_ERROR(session.evaluate(window.first(window.size() - 1),
                                        [&](uint32_t at, uint32_t count, std::span<const float> logits) {
                                          if (!goesOn()) return cancelled("stopped in the middle of a window");
                                          const uint32_t skip = at >= first ? 0 : std::min(count, first - at);
                                          const auto part = logits.subspan(uint64_t{skip} * vocab);
                                          rows.insert(rows.end(), part.begin(), part.end());
                                          return Status::ok();
                                        }));
  return rows;
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Result<PerplexityResult> measurePerplexity(engine::Session& session, std::span<const int32_t> ids,
                                           const PerplexityOptions& options) {
  FIRN_RETURN_IF_ERROR(checkWindow(session, ids, options));
  const size_t vocab = session.model().limits().vocab;
  const auto windows = static_cast<uint32_t>(std::min<size_t>(ids.size() / options.window, options.maxWindows));
  const size_t first = options.window / 2;
  PerplexityResult result;
  for (uint32_t w = 0; w < windows; ++w) {
    const auto goesOn = [&] { return !options.progress || options.progress(w, windows); };
    if (!goesOn()) return cancelled("stopped after " + std::to_string(w) + " windows");
    const auto window = ids.subspan(size_t{w} * options.window, options.window);
    FIRN_ASSIGN_OR_RETURN(const std::vector<float> logits, scoredLogits(session, window, goesOn));
    const size_t positions = logits.size() / vocab;
    double nll = 0;
    for (size_t i = 0; i < positions; ++i) {
      const auto row = std::span(logits).subspan(i * vocab, vocab);
      nll += logSumExp(row) - row[static_cast<size_t>(window[first + i + 1])];
      if (std::isnan(nll)) {
        return corrupt("window " + std::to_string(w + 1) + ", position " + std::to_string(first + i) +
                       ": a logit is NaN (not a number) or infinite: weights of the model are NaN, infinite, or so "
                       "large that sums overflow. Get the model file again, or another quantization of it");
      }
    }
    result.windowNll.push_back(nll / static_cast<double>(positions));
    result.scored += positions;
    if (w >= options.klWindows || options.reference == nullptr) continue;
    FIRN_ASSIGN_OR_RETURN(const std::vector<float> expected, scoredLogits(*options.reference, window, goesOn));
    double kl = 0;
    for (size_t i = 0; i < positions; ++i) {
      kl += divergence(std::span(expected).subspan(i * vocab, vocab), std::span(logits).subspan(i * vocab, vocab));
    }
    result.windowKl.push_back(kl / static_cast<double>(positions));
  }
  result.perplexity = std::exp(mean(result.windowNll));
  result.meanKl = mean(result.windowKl);
  return result;
}

}  // namespace firn::tools
