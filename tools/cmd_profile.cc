// firn profile: a short generation, told op by op: a table, and a trace for chrome://tracing and Perfetto.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/quote.h"
#include "engine/session.h"
#include "engine/token_ids.h"
#include "genai/sampler/sampler.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/model_source.h"
#include "tools/number_option.h"
#include "tools/output_file.h"
#include "tools/text_input.h"
#include "tools/timeline/run_trace.h"

namespace firn::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct ProfileOptions {
  ModelChoice model;
  std::optional<std::string> prompt;
  std::vector<int32_t> promptIds;
  bool hasPromptIds = false;
  uint64_t maxTokens = 0;
  uint32_t rows = 0;  ///< of the table
  std::string output;
};

constexpr uint64_t kUsualTokens = 4;
constexpr uint32_t kUsualRows = 20;

Result<std::vector<int32_t>> promptIds(const ProfileOptions& options, const blob::Blob& blob) {
  if (options.hasPromptIds) return options.promptIds;
  if (blob.tokenizer().empty()) {
    return unsupported("the model has no tokenizer that firn reads: give token ids with --prompt-ids 1,2,3");
  }
  FIRN_ASSIGN_OR_RETURN(const genai::Tokenizer tokenizer, genai::Tokenizer::open(blob.tokenizer()));
  return encodeText(tokenizer, *options.prompt);
}

uint64_t nanosecondsSince(Clock::time_point start) {
  return static_cast<uint64_t>((Clock::now() - start) / std::chrono::nanoseconds(1));
}

/// The place of a failure, as firn run tells it: tokens count from 1.
std::string answerToken(uint64_t number) { return "token " + std::to_string(number) + " of the answer"; }

/// The prompt and the steps, each with what it ran. Stops where the cache is full.
Result<std::vector<ProfiledRun>> profiledRuns(const ProfileOptions& options, engine::Devices& devices,
                                              engine::Session& session, std::span<const int32_t> ids) {
  devices.profile();  // turns measuring on
  std::vector<ProfiledRun> runs;
  FIRN_ASSIGN_OR_RETURN(std::span<const float> logits,
                        session.prefill(ids, [](uint32_t, uint32_t) { return !interrupted().load(); }));
  ProfiledRun& prompt = runs.emplace_back();
  for (const engine::ChunkTime& chunk : session.times().chunks) {
    prompt.entries.push_back({.entry = chunk.entry, .nanoseconds = chunk.nanoseconds});
  }
  if (session.times().headNanoseconds > 0) {
    prompt.entries.push_back(
        {.entry = session.model().variants().heads().front().entry, .nanoseconds = session.times().headNanoseconds});
  }
  prompt.rows = devices.profile();
  const uint32_t kvRows = session.model().limits().kvRows;
  for (uint64_t i = 1; i < options.maxTokens && session.position() < kvRows; ++i) {
    if (interrupted().load()) return cancelled("the profile was interrupted");
    const Result<int32_t> id = genai::argmax(logits);
    if (!id) return id.status().withPlace(answerToken(i));
    const uint32_t entry = session.model().variants().generateFor(session.position() + 1)->entry;
    const Clock::time_point start = Clock::now();
    FIRN_ASSIGN_OR_RETURN(logits, session.decode(*id));
    ProfiledRun& step = runs.emplace_back();
    step.entries.push_back({.entry = entry, .nanoseconds = nanosecondsSince(start)});
    step.rows = devices.profile();
  }
  FIRN_RETURN_IF_ERROR(genai::checkLogits(logits).withPlace(answerToken(runs.size())));
  return runs;
}

/// Whether the time of a row is that of a simulated machine: the name ends with the op, "attn_q (npu.matmul)".
bool isSimulated(const runtime::ProfileRow& row) {
  const size_t op = row.name.rfind(" (");
  return op != std::string::npos && row.name.compare(op, 6, " (npu.") == 0;
}

/// The costliest ops of all runs, of one clock; nothing where it has none.
void printTable(const std::vector<ProfiledRun>& runs, uint32_t most, bool ofSimulated) {
  std::map<std::string, runtime::ProfileRow> sums;
  uint64_t total = 0;
  for (const ProfiledRun& run : runs) {
    for (const runtime::ProfileRow& row : run.rows) {
      if (isSimulated(row) != ofSimulated) continue;
      runtime::ProfileRow& sum = sums[row.name];
      sum.count += row.count;
      sum.nanoseconds += row.nanoseconds;
      total += row.nanoseconds;
    }
  }
  if (sums.empty()) return;
  std::vector<std::pair<std::string, runtime::ProfileRow>> rows(sums.begin(), sums.end());
  std::ranges::sort(rows, std::greater(), [](const auto& row) { return std::pair(row.second.nanoseconds, row.first); });
  std::printf("%12s %7s %9s  op (%s)\n", "ms", "share", "tasks",
              ofSimulated ? "simulated time of the npu's engines" : "time of all threads");
  for (const auto& [name, row] : std::span(rows).first(std::min<size_t>(rows.size(), most))) {
    std::printf("%12.3f %5.1f %% %9llu  %s\n", static_cast<double>(row.nanoseconds) * 1e-6,
                total == 0 ? 0 : 100 * static_cast<double>(row.nanoseconds) / static_cast<double>(total),
                static_cast<unsigned long long>(row.count), name.c_str());
  }
  if (rows.size() > most) std::printf("%12s and %s more\n", "", counted(rows.size() - most, "op").c_str());
}

Status profile(const ProfileOptions& options) {
  if (options.hasPromptIds == options.prompt.has_value()) {
    return invalidArgument("give either a PROMPT or --prompt-ids");
  }
  if (!options.output.empty()) FIRN_RETURN_IF_ERROR(checkOutput(options.output, "-o", options.model.inputs()));
  const auto check = [&](const PlannedLimits& limits) -> Status {
    if (!options.hasPromptIds) return Status::ok();
    FIRN_RETURN_IF_ERROR(checkPromptLength(options.promptIds.size(), limits));
    return engine::checkIds(options.promptIds, limits.vocab);
  };
  FIRN_ASSIGN_OR_RETURN(const OpenModel open, openModel(options.model, check));
  const blob::Blob& blob = open.model->blob();
  FIRN_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, promptIds(options, blob));
  FIRN_RETURN_IF_ERROR(checkPromptLength(ids.size(), {.maxPromptTokens = open.model->limits().maxPromptTokens}));
  FIRN_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Session> session, engine::Session::create(open.model));
  FIRN_ASSIGN_OR_RETURN(const std::vector<ProfiledRun> runs,
                        profiledRuns(options, open.model->devices(), *session, ids));
  // A table for each clock: shares of a sum of both would mean nothing.
  for (const bool ofSimulated : {true, false}) printTable(runs, options.rows, ofSimulated);
  if (options.output.empty()) return Status::ok();
  FIRN_RETURN_IF_ERROR(writeRunTrace(options.output, blob, runs));
  std::fprintf(stderr, "trace written to %s; chrome://tracing and ui.perfetto.dev open it\n",
               printablePath(options.output).c_str());
  return Status::ok();
}

}  // namespace

void addProfileCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<ProfileOptions>();
  options->maxTokens = kUsualTokens;
  options->rows = kUsualRows;
  CLI::App* command = app.add_subcommand("profile", "Run a short generation and tell which ops cost the time");
  options->model.addTo(*command);
  command->add_option("prompt", options->prompt, "The prompt, as given, special tokens parsed");
  CLI::Option* ids =
      addNumberList(*command, "--prompt-ids", options->promptIds, "Token ids instead of a text: 1,2,3", {0, INT32_MAX});
  addNumber(*command, "--max-tokens", options->maxTokens, "Tokens to generate, end tokens among them (default: 4)",
            {1, 1 << 20});
  addNumber(*command, "--rows", options->rows, "Ops in the table, costliest first (default: 20)", {1, 1 << 20});
  command->add_option("-o,--output", options->output,
                      "File for a trace that chrome://tracing and Perfetto open (FILE.json); some MB a token on npu");
  command->callback([options, ids, &action] {
    options->hasPromptIds = ids->count() > 0;
    action = [options] { return profile(*options); };
  });
}

}  // namespace firn::tools
