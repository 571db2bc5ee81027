// firn bench: prefill and decode speed of a model on this machine, with the memory's limit beside it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "engine/session.h"
#include "genai/sampler/sampler.h"
#include "tools/bandwidth_probe.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/model_source.h"
#include "tools/number_option.h"
#include "tools/session_bench.h"
#include "tools/simulated_stages.h"

namespace firn::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchOptions {
  ModelChoice model;
  // nullopt: as many as usual, or as the model has room for.
  std::optional<uint32_t> promptTokens;
  std::optional<uint32_t> decodeTokens;
  std::optional<uint32_t> depth;   ///< tokens in the cache when decode begins
  std::vector<uint32_t> sessions;  ///< empty: only one
  bool json = false;
};

constexpr uint32_t kUsualPromptTokens = 512;
constexpr uint32_t kUsualDecodeTokens = 128;
constexpr uint32_t kUsualDepth = 16;
constexpr uint32_t kWarmUpTokens = 8;

/// What is measured.
struct Sizes {
  uint32_t promptTokens = 0;
  uint32_t decodeTokens = 0;
  uint32_t depth = 0;
};

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::vector<int32_t> randomIds(uint32_t count, uint32_t vocab, genai::Pcg32& random) {
  std::vector<int32_t> ids(count);
  for (int32_t& id : ids) id = static_cast<int32_t>(random.next() % vocab);
  return ids;
}

/// Seconds of one prefill of `ids` into an empty cache.
Result<double> timePrefill(engine::Session& session, std::span<const int32_t> ids) {
  FIRN_RETURN_IF_ERROR(session.rewind(0));
  const Clock::time_point start = Clock::now();
  const auto logits = session.prefill(ids, [](uint32_t, uint32_t) { return !interrupted().load(); });
  if (!logits) return logits.status();
  const double seconds = secondsSince(start);
  FIRN_RETURN_IF_ERROR(genai::checkLogits(*logits).withPlace("the prompt"));
  return seconds;
}

/// Seconds of `ids.size()` decode steps behind `prompt`.
Result<double> timeDecode(engine::Session& session, std::span<const int32_t> prompt, std::span<const int32_t> ids) {
  FIRN_ASSIGN_OR_RETURN([[maybe_unused]] const double prefill, timePrefill(session, prompt));
  std::span<const float> logits;
  const Clock::time_point start = Clock::now();
  for (const int32_t id : ids) {
    if (interrupted().load()) return cancelled("the benchmark was interrupted");
    FIRN_ASSIGN_OR_RETURN(logits, session.decode(id));
  }
  const double seconds = secondsSince(start);
  if (!ids.empty()) FIRN_RETURN_IF_ERROR(genai::checkLogits(logits).withPlace("the last step"));
  return seconds;
}

/// The sizes asked for, which must fit, and the usual ones, which are made to.
Result<Sizes> chooseSizes(const BenchOptions& options, const PlannedLimits& limits) {
  Sizes sizes;
  sizes.promptTokens = options.promptTokens.value_or(std::min(kUsualPromptTokens, limits.maxPromptTokens));
  if (sizes.promptTokens > limits.maxPromptTokens) {
    return outOfRange("--prompt-tokens " + std::to_string(sizes.promptTokens) + " is above the model's limit of " +
                      std::to_string(limits.maxPromptTokens) + " (max_prompt_len)");
  }
  sizes.depth = options.depth.value_or(std::min(kUsualDepth, limits.maxPromptTokens));
  if (sizes.depth > limits.maxPromptTokens) {
    return outOfRange("--depth " + std::to_string(sizes.depth) + " is above the model's limit of " +
                      std::to_string(limits.maxPromptTokens) + " prompt tokens (max_prompt_len)");
  }
  const uint32_t room = limits.kvRows - sizes.depth;
  sizes.decodeTokens = options.decodeTokens.value_or(std::min(kUsualDecodeTokens, room));
  if (sizes.decodeTokens > room) {
    return outOfRange("--decode-tokens " + std::to_string(sizes.decodeTokens) + " is above the " +
                      std::to_string(room) + " that fit in the cache behind --depth " + std::to_string(sizes.depth));
  }
  return sizes;
}

/// A step of several sessions needs a batch of at least as many rows in the blob.
Status checkSessions(const BenchOptions& options, const engine::Model& model) {
  const std::vector<uint32_t>& batches = model.variants().batches();
  const uint32_t most = batches.empty() ? 1 : batches.back();
  const auto above = std::ranges::find_if(options.sessions, [&](uint32_t sessions) { return sessions > most; });
  if (above == options.sessions.end()) return Status::ok();
  return invalidArgument("--sessions " + std::to_string(*above) + ": the blob " +
                         (batches.empty() ? "has no batches" : "has batches of at most " + std::to_string(most)) +
                         "; compile the model again with --batch 2,4,8, or measure the GGUF itself");
}

/// What was measured, in tokens per second.
struct Rates {
  double prefill = 0;
  double decode = 0;
  uint64_t weightBytes = 0;  ///< that a step reads
  uint32_t threads = 0;
  double bytesPerSecond =
      0;  ///< that the memory gave; 0: unknown, or steps are simulated, which the memory does not limit
  std::vector<SessionRate> together;
};

Result<Rates> measure(const BenchOptions& options, const Sizes& sizes, const OpenModel& open) {
  const engine::ModelLimits& limits = open.model->limits();
  FIRN_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Session> session, engine::Session::create(open.model));
  genai::Pcg32 random(1);
  const auto prompt = randomIds(sizes.promptTokens, limits.vocab, random);
  const auto shortPrompt = randomIds(sizes.depth, limits.vocab, random);
  const auto answer = randomIds(sizes.decodeTokens, limits.vocab, random);

  // Warm-up: the first pass pays for page faults and for waking the threads.
  FIRN_ASSIGN_OR_RETURN([[maybe_unused]] const double cold, timePrefill(*session, prompt));
  const size_t warmTokens = std::min<size_t>(kWarmUpTokens, answer.size());
  FIRN_ASSIGN_OR_RETURN([[maybe_unused]] const double warm,
                        timeDecode(*session, shortPrompt, std::span(answer).first(warmTokens)));

  FIRN_ASSIGN_OR_RETURN(const double prefillSeconds, timePrefill(*session, prompt));
  FIRN_ASSIGN_OR_RETURN(const double decodeSeconds, timeDecode(*session, shortPrompt, answer));
  Rates rates;
  rates.prefill = sizes.promptTokens / prefillSeconds;
  rates.decode = sizes.decodeTokens / decodeSeconds;
  // Of several packings of one weight a step reads one.
  rates.weightBytes = open.model->variants().generateFor(sizes.depth + 1)->weightBytes;
  rates.threads = open.model->devices().threads();
  if (!simulatedStages(open.model->blob()).decode) rates.bytesPerSecond = measureReadBandwidth(rates.threads);
  FIRN_ASSIGN_OR_RETURN(rates.together, benchSessions(open.model, options.sessions, shortPrompt, answer));
  return rates;
}

void printJson(const Rates& rates, const OpenModel& open) {
  const blob::Blob& blob = open.model->blob();
  nlohmann::ordered_json object = {{"prefill_tok_s", rates.prefill},
                                   {"decode_tok_s", rates.decode},
                                   {"load_ms", open.loadMs},
                                   {"weights_bytes", blob.header().weightsBytes},
                                   {"decode_weights_bytes", rates.weightBytes},
                                   {"memory_bytes", open.model->memoryBytes()},
                                   {"kv_type", dtypeInfo(blob.header().kvType)->name},
                                   {"kv_bytes", blob.header().kvBytes},
                                   {"threads", rates.threads}};
  const SimulatedStages simulated = simulatedStages(blob);
  if (simulated.prefill || simulated.decode) object["times"] = simulatedTimesText(simulated);
  if (!simulated.decode) {
    object["probe_bytes_per_s"] = rates.bytesPerSecond;
    object["decode_bound_tok_s"] = rates.bytesPerSecond / static_cast<double>(rates.weightBytes);
  }
  for (const SessionRate& rate : rates.together) {
    object["sessions"].push_back({{"sessions", rate.sessions}, {"decode_tok_s", rate.tokensPerSecond}});
  }
  std::cout << object.dump() << "\n";
}

void printText(const Rates& rates, const Sizes& sizes, const OpenModel& open) {
  const blob::Blob& blob = open.model->blob();
  const SimulatedStages simulated = simulatedStages(blob);
  if (simulated.prefill || simulated.decode) {
    std::printf("%s, not of the npu: firn simulate tells its own\n", simulatedTimesText(simulated).c_str());
  }
  std::printf("prefill %s: %.1f tokens/s\n", counted(sizes.promptTokens, "token").c_str(), rates.prefill);
  std::printf("decode %s: %.1f tokens/s", counted(sizes.decodeTokens, "token").c_str(), rates.decode);
  const double weightRate = rates.decode * static_cast<double>(rates.weightBytes);
  if (!simulated.decode) {
    std::printf("; %.1f GB/s of weights, the memory gave %.1f GB/s to %s just now (%.0f %%)", weightRate * 1e-9,
                rates.bytesPerSecond * 1e-9, counted(rates.threads, "thread").c_str(),
                rates.bytesPerSecond > 0 ? 100 * weightRate / rates.bytesPerSecond : 0);
  }
  std::printf("\n");
  for (const SessionRate& rate : rates.together) {
    std::printf("%s: %.1f tokens/s in all, %.2f of one session; weights and cache are read at %.1f GB/s\n",
                counted(rate.sessions, "session").c_str(), rate.tokensPerSecond, rate.tokensPerSecond / rates.decode,
                rate.bytesPerSecond * 1e-9);
  }
  std::printf("load %.1f ms; weights %.1f MB; cache of a session %.1f MB (%s) and scratch %.1f MB\n", open.loadMs,
              static_cast<double>(blob.header().weightsBytes) * 1e-6, static_cast<double>(blob.header().kvBytes) * 1e-6,
              std::string(dtypeInfo(blob.header().kvType)->name).c_str(),
              static_cast<double>(open.model->memoryBytes() - blob.header().kvBytes) * 1e-6);
}

Status bench(BenchOptions options) {
  // For a GGUF: a step of up to the largest number of sessions asked for.
  for (const uint32_t rows : {2U, 4U, 8U}) {
    if (std::ranges::any_of(options.sessions, [&](uint32_t sessions) { return sessions > rows / 2; })) {
      options.model.compile.batches.push_back(rows);
    }
  }
  const auto check = [&](const PlannedLimits& limits) { return chooseSizes(options, limits).status(); };
  FIRN_ASSIGN_OR_RETURN(const OpenModel open, openModel(options.model, check));
  const engine::ModelLimits& limits = open.model->limits();
  FIRN_ASSIGN_OR_RETURN(const Sizes sizes, chooseSizes(options, {limits.maxPromptTokens, limits.kvRows, limits.vocab}));
  FIRN_RETURN_IF_ERROR(checkSessions(options, *open.model));
  FIRN_ASSIGN_OR_RETURN(const Rates rates, measure(options, sizes, open));
  if (options.json) {
    printJson(rates, open);
  } else {
    printText(rates, sizes, open);
  }
  return Status::ok();
}

}  // namespace

void addBenchCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Measure prefill and decode speed on random tokens");
  options->model.addTo(*command);
  addNumber(*command, "--prompt-tokens", options->promptTokens,
            "Tokens of the prompt (default: 512, or the longest prompt)", {1, 1 << 20});
  addNumber(*command, "--decode-tokens", options->decodeTokens, "Tokens to generate (default: 128, or what has room)",
            {1, 1 << 20});
  addNumber(*command, "--depth", options->depth, "Tokens in the cache when decode begins (default: 16)", {1, 1 << 20});
  addNumberList(*command, "--sessions", options->sessions,
                "Measure too so many sessions that decode in one step (up to 8 each)", {1, 8});
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &action] { action = [options] { return bench(*options); }; });
}

}  // namespace firn::tools
