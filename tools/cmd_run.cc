// firn run: a prompt in, a streamed answer out.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "engine/token_ids.h"
#include "genai/pipeline.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/engine_adapter.h"
#include "tools/explain.h"
#include "tools/model_source.h"
#include "tools/number_option.h"
#include "tools/progress_bar.h"
#include "tools/prompt_cache.h"
#include "tools/run_report.h"
#include "tools/standard_input.h"
#include "tools/text_input.h"

namespace firn::tools {
namespace {

constexpr int64_t kMostSeed = std::numeric_limits<int64_t>::max();

struct RunOptions {
  ModelChoice model;
  std::optional<std::string> prompt;
  std::vector<int32_t> promptIds;
  bool hasPromptIds = false;
  uint64_t maxTokens = genai::kNoTokenLimit;
  float temperature = 0;
  uint64_t seed = 0;
  bool ignoreEos = false;
  bool json = false;
  bool explain = false;
  engine::SessionOptions session;
  bool hasKeepRows = false;
  bool hasSeed = false;
  uint64_t answers = 1;
  std::string promptCache;  ///< file of a session; empty: none
};

genai::SamplerOptions samplerOf(const RunOptions& options) {
  return {.temperature = options.temperature, .seed = options.seed};
}

/// Also what the engine would refuse, which it may be asked a compile later only.
Status checkOptions(const RunOptions& options) {
  if (options.hasPromptIds == options.prompt.has_value()) {
    return invalidArgument("give either a PROMPT or --prompt-ids");
  }
  if (options.hasKeepRows && !options.session.contextShift) {
    return invalidArgument("--keep-rows says what --context-shift keeps: give both");
  }
  if (const auto sampler = genai::Sampler::make(samplerOf(options)); !sampler) return sampler.status();
  const bool isGreedy = options.temperature < genai::kGreedyTemperature;
  if (options.answers > 1 && isGreedy) {
    return invalidArgument("--n " + std::to_string(options.answers) +
                           ": without a temperature all answers are the same; give --temperature too");
  }
  if (options.answers - 1 > static_cast<uint64_t>(kMostSeed) - options.seed) {
    return invalidArgument("--seed " + std::to_string(options.seed) + " with --n " + std::to_string(options.answers) +
                           ": each answer takes the next seed, and the last would be above " +
                           std::to_string(kMostSeed) + ", the largest there is; give a smaller one");
  }
  if (options.hasSeed && isGreedy) {
    std::cerr << "firn: note: --seed changes nothing without --temperature: the likeliest token is taken\n";
  }
  return options.promptCache.empty() ? Status::ok() : checkPromptCache(options.promptCache, options.model.inputs());
}

/// Before a model is compiled for it; a text's ids are put into `ids`.
Status checkPlan(const RunOptions& options, const PlannedLimits& limits, std::vector<int32_t>& ids) {
  FIRN_RETURN_IF_ERROR(engine::checkShift(options.session, limits.kvRows));
  if (!options.promptCache.empty()) {
    FIRN_RETURN_IF_ERROR(checkSavedSession(options.promptCache, options.model, limits));
  }
  if (options.hasPromptIds) {
    FIRN_RETURN_IF_ERROR(checkPromptLength(options.promptIds.size(), limits));
    return engine::checkIds(options.promptIds, limits.vocab);
  }
  if (*options.prompt == "-")
    return withTokenizer(options.model.path, "--prompt-ids 1,2,3", [](const auto&) { return Status::ok(); });
  return withTokenizer(options.model.path, "--prompt-ids 1,2,3", [&](const genai::Tokenizer& tokenizer) -> Status {
    FIRN_ASSIGN_OR_RETURN(ids, encodeText(tokenizer, *options.prompt));
    return checkPromptLength(ids.size(), limits);
  });
}

/// The prompt's ids, from `--prompt-ids` or through the tokenizer.
Result<std::vector<int32_t>> promptIds(const RunOptions& options, const engine::ModelLimits& limits,
                                       const genai::Tokenizer* tokenizer) {
  if (options.hasPromptIds) return options.promptIds;
  if (tokenizer == nullptr) {
    return unsupported("the model has no tokenizer that firn reads: give token ids with --prompt-ids 1,2,3");
  }
  std::string text = *options.prompt;
  if (text == "-") {
    // No token is longer, and control tokens are shorter.
    FIRN_ASSIGN_OR_RETURN(text, readStandardInput(uint64_t{limits.maxPromptTokens} * blob::kMaxMergedBytes,
                                                  "more than the longest prompt of this model can have; shorten it or "
                                                  "compile with a larger --max-prompt-len"));
  }
  return encodeText(*tokenizer, text);
}

/// What ends an answer where the blob has no tokenizer: of the model card (compiler/model_card.h).
std::vector<int32_t> endIdsOfCard(const blob::Blob& blob) {
  const nlohmann::json card = nlohmann::json::parse(blob.card(), nullptr, /*allow_exceptions=*/false);
  const auto list = card.is_object() ? card.find("end_ids") : card.end();
  std::vector<int32_t> ids;
  if (list == card.end() || !list->is_array()) return ids;
  for (const nlohmann::json& id : *list) {
    if (id.is_number_unsigned() && id < blob.header().vocab) ids.push_back(id.get<int32_t>());
  }
  return ids;
}

/// Shows the plan of what the session has not cached of the prompt. One that has no plan is refused later, by the limit
/// that it breaks.
Status explainPrompt(engine::Session& session, std::span<const int32_t> ids) {
  if (ids.empty() || ids.size() > session.model().limits().maxPromptTokens) return Status::ok();  // refused by the run
  const auto exact = session.ids().first(session.exactTokens());
  const auto matched = ids.first(ids.size() - 1);
  const auto cached = std::ranges::mismatch(matched, exact).in1 - matched.begin();
  FIRN_RETURN_IF_ERROR(session.rewind(static_cast<uint32_t>(cached)));
  const auto plan = session.plan(static_cast<uint32_t>(ids.size() - static_cast<size_t>(cached)));
  if (plan) std::cerr << explainPlan(*plan, session.model().blob());
  return Status::ok();
}

Result<Answers> generateText(const RunOptions& options, engine::Session& session, const genai::Tokenizer* tokenizer,
                             std::span<const int32_t> ids) {
  if (options.explain) FIRN_RETURN_IF_ERROR(explainPrompt(session, ids));
  genai::GenerateOptions generate;
  generate.maxTokens = options.maxTokens;
  generate.sampler = samplerOf(options);
  generate.ignoreEos = options.ignoreEos;
  if (tokenizer == nullptr) generate.endIds = endIdsOfCard(session.model().blob());
  generate.cancel = &interrupted();

  std::optional<ProgressBar> bar;
  if (!options.json) bar.emplace("prompt");
  SessionEngine engine(session, [&](uint32_t done, uint32_t total) {
    if (bar && total > 1024) bar->update("tokens", done, total);
    return !interrupted().load();
  });
  genai::GenerateCallbacks callbacks;
  if (!options.json) {
    callbacks.onText = [&bar](std::string_view piece) {
      bar.reset();
      std::cout << piece << std::flush;
      return static_cast<bool>(std::cout);
    };
    if (tokenizer == nullptr) {
      callbacks.onToken = [&bar](int32_t id) {
        bar.reset();
        std::cout << id << ' ' << std::flush;
        return static_cast<bool>(std::cout);
      };
    }
  }
  Answers answers;
  for (uint64_t i = 0; i < options.answers; ++i) {
    if (i > 0 && !options.json) std::cout << "\n---\n" << std::flush;
    // The prompt is computed once: from the second answer on the session has all of it but the last position.
    auto answer = genai::generate(engine, tokenizer, ids, generate, callbacks);
    if (!answer) {
      // What was streamed ends its line; a refused prompt prints nothing.
      if (!options.json && !bar) std::cout << std::endl;
      return answer.status();
    }
    answers.push_back({*std::move(answer), session.takeTimes()});
    if (answers.back().result.finishReason == genai::FinishReason::kInterrupted) break;
    ++generate.sampler.seed;
  }
  return answers;
}

/// cancelled when the last answer was.
Status interruptionOf(const genai::GenerateResult& answer) {
  if (answer.finishReason != genai::FinishReason::kInterrupted) return Status::ok();
  return cancelled("generation was stopped after " + counted(answer.tokens.size(), "token"));
}

Status run(const RunOptions& options) {
  FIRN_RETURN_IF_ERROR(checkOptions(options));
  const std::string& promptCache = options.promptCache;
  std::vector<int32_t> ids;  // empty until the prompt is encoded; one without tokens is refused
  const auto check = [&](const PlannedLimits& limits) { return checkPlan(options, limits, ids); };
  FIRN_ASSIGN_OR_RETURN(const OpenModel open, openModel(options.model, check));
  std::optional<genai::Tokenizer> tokenizer;
  if (const auto image = open.model->blob().tokenizer(); !image.empty()) {
    auto opened = genai::Tokenizer::open(image);
    // Ids need no tokenizer: one that firn does not read costs the text only.
    const bool isOptional = options.hasPromptIds && opened.status().code() == Code::kUnsupported;
    if (!opened && !isOptional) return opened.status();
    if (opened) tokenizer = *std::move(opened);
  }
  FIRN_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Session> session,
                        engine::Session::create(open.model, options.session));
  if (!promptCache.empty()) FIRN_RETURN_IF_ERROR(loadPromptCache(*session, promptCache));
  const uint32_t loadedRows = session->position();
  // A reader that goes away ends the answer, and not the process before its rows are saved.
  if (!promptCache.empty()) std::signal(SIGPIPE, SIG_IGN);
  const genai::Tokenizer* reader = tokenizer ? &*tokenizer : nullptr;
  // A text that was encoded before a compile has its ids: the blob has the tokenizer of its model.
  if (ids.empty()) {
    FIRN_ASSIGN_OR_RETURN(ids, promptIds(options, open.model->limits(), reader));
  }
  // The last token of a prompt is computed in any case, and rows that a shift has moved stand for no prompt.
  const bool usesLoaded = session->exactTokens() > 0 && ids.size() > 1 && session->ids().front() == ids.front();
  const auto result = generateText(options, *session, reader, ids);
  if (!result) {
    if (std::cout || result.status().code() != Code::kCancelled) {
      return usesLoaded ? notTheWeightsAlone(result.status(), promptCache) : result.status();
    }
    // A closed or full output stops the generation too, behind the whole prompt; main() names it.
    return promptCache.empty() ? Status::ok() : session->save(promptCache);
  }
  if (options.explain)
    std::cerr << (options.json ? "" : "\n") << answersTimes(*result, options.answers, open.model->blob());
  std::cout << (options.json ? answersJson(*result, options.answers, open) : "") << "\n";
  if (!options.json && isatty(STDERR_FILENO) == 1) std::cerr << answersSummary(*result, open.model->blob());
  // Also of an answer that was interrupted: what has been computed holds. Of a prompt that was,
  // less may be there than the file has: it stays.
  const genai::GenerateResult& first = result->front().result;
  const bool isPart = first.finishReason == genai::FinishReason::kInterrupted && first.tokens.empty();
  const uint32_t leastRows = isPart ? std::max(loadedRows, 1U) : 1;
  if (!promptCache.empty() && session->position() >= leastRows) FIRN_RETURN_IF_ERROR(session->save(promptCache));
  return interruptionOf(result->back().result);
}

}  // namespace

void addRunCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Answer a prompt; a GGUF is compiled once into the cache");
  options->model.addTo(*command);
  command->add_option("prompt", options->prompt,
                      "The prompt, as given, special tokens parsed; - reads it from standard input");
  CLI::Option* ids =
      addNumberList(*command, "--prompt-ids", options->promptIds, "Token ids instead of a text: 1,2,3", {0, INT32_MAX});
  addNumber(*command, "--max-tokens", options->maxTokens,
            "Stop after this many tokens (default: until the cache is full)", {0});
  addFraction(*command, "--temperature", options->temperature, "0 takes the likeliest token (default: 0)",
              genai::kMaxTemperature);
  CLI::Option* seed = addNumber(*command, "--seed", options->seed,
                                "Of the random numbers, with a temperature (default: 0)", {0, kMostSeed});
  command->add_flag("--ignore-eos", options->ignoreEos, "Go on after end tokens");
  command->add_flag("--context-shift", options->session.contextShift,
                    "When the cache is full, drop a quarter of it and go on, without end");
  CLI::Option* keepRows = addNumber(*command, "--keep-rows", options->session.keepRows,
                                    "With --context-shift: the first tokens, which stay (default: 4)", {0, INT32_MAX});
  addNumber(*command, "--n", options->answers,
            "Answers to the prompt, each with the next seed; the prompt is computed once (default: 1)", {1, 1 << 20});
  command->add_option("--prompt-cache", options->promptCache,
                      "File that keeps the session, written at the end: what a prompt begins with and the file has is "
                      "not computed again");
  command->add_flag("--explain", options->explain,
                    "Also print the plan of the prompt, predicted and measured times of each stage, to standard error");
  command->add_flag("--json", options->json, "Print one JSON object at the end instead of streaming");
  command->callback([options, ids, keepRows, seed, &action] {
    options->hasSeed = seed->count() > 0;
    options->hasKeepRows = keepRows->count() > 0;
    options->hasPromptIds = ids->count() > 0;
    action = [options] { return run(*options); };
  });
}

}  // namespace firn::tools
