#include "tools/run_report.h"

#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "tools/counted.h"
#include "tools/explain.h"
#include "tools/simulated_stages.h"

namespace firn::tools {
namespace {

/// Tokens behind the first of each answer, per second of the time behind it.
double decodeTokensPerS(const Answers& answers) {
  double tokens = 0;
  double seconds = 0;
  for (const Answer& answer : answers) {
    if (answer.result.decodeTokensPerS == 0) continue;
    const auto decoded = static_cast<double>(answer.result.tokens.size() - 1);
    tokens += decoded;
    seconds += decoded / answer.result.decodeTokensPerS;
  }
  return seconds > 0 ? tokens / seconds : 0;
}

}  // namespace

std::string answersJson(const Answers& answers, uint64_t asked, const OpenModel& open) {
  const genai::GenerateResult& first = answers.front().result;
  nlohmann::ordered_json object;
  const auto addText = [](nlohmann::ordered_json& to, const genai::GenerateResult& answer) {
    to["text"] = answer.text;
    to["tokens"] = answer.tokens;
  };
  const auto addEnd = [](nlohmann::ordered_json& to, const genai::GenerateResult& answer) {
    to["completion_tokens"] = answer.tokens.size();
    to["finish_reason"] = genai::finishReasonName(answer.finishReason);
  };
  if (asked == 1) addText(object, first);
  object["prompt_tokens"] = first.promptTokens;
  object["cached_tokens"] = first.cachedTokens;
  if (asked == 1) {
    addEnd(object, first);
  } else {
    for (const Answer& answer : answers) {
      nlohmann::ordered_json& choice = object["choices"].emplace_back();
      addText(choice, answer.result);
      addEnd(choice, answer.result);
    }
  }
  object["compiled"] = open.compiled;
  object["load_ms"] = open.loadMs;
  object["ttft_ms"] = first.ttftMs;
  object["decode_tok_s"] = decodeTokensPerS(answers);
  const std::string simulated = simulatedTimesText(simulatedStages(open.model->blob()));
  if (!simulated.empty()) object["times"] = simulated;
  return object.dump();
}

std::string answersSummary(const Answers& answers, const blob::Blob& blob) {
  const genai::GenerateResult& first = answers.front().result;
  const genai::GenerateResult& last = answers.back().result;
  const std::string simulated = simulatedTimesText(simulatedStages(blob));
  std::array<char, 64> ttft{};
  std::array<char, 64> rate{};
  std::snprintf(ttft.data(), ttft.size(), "%.0f ms", first.ttftMs);
  std::snprintf(rate.data(), rate.size(), "%.1f tokens/s", decodeTokensPerS(answers));
  return counted(first.promptTokens, "prompt token") + ", " + std::to_string(first.cachedTokens) +
         " cached, first token after " + ttft.data() + "; " + counted(last.tokens.size(), "token") + ", " +
         rate.data() + (simulated.empty() ? "" : " (" + simulated + ")") +
         "; finish: " + std::string(genai::finishReasonName(last.finishReason)) + "\n";
}

std::string answersTimes(const Answers& answers, uint64_t asked, const blob::Blob& blob) {
  if (asked == 1) return explainTimes(answers.front().times, blob);
  std::string text;
  for (size_t i = 0; i < answers.size(); ++i) {
    text += "answer " + std::to_string(i + 1) + " of " + std::to_string(asked) + ", " +
            explainTimes(answers[i].times, blob);
  }
  return text;
}

}  // namespace firn::tools
