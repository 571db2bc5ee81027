// firn eval: logits of every position, and perplexity of a text.
#include <iostream>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "base/quote.h"
#include "engine/session.h"
#include "engine/token_ids.h"
#include "genai/sampler/sampler.h"
#include "genai/tokenizer/tokenizer.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/file_kind.h"
#include "tools/model_source.h"
#include "tools/number_option.h"
#include "tools/output_file.h"
#include "tools/perplexity.h"
#include "tools/progress_bar.h"
#include "tools/safetensors_writer.h"
#include "tools/text_input.h"

namespace firn::tools {
namespace {

struct LogitsOptions {
  ModelChoice model;
  std::string idsFile;
  std::string output;
  bool step = false;
};

struct EvalPerplexityOptions {
  ModelChoice model;
  std::string textFile;
  std::string idsFile;  ///< instead of a text
  PerplexityOptions perplexity;
  std::optional<uint32_t> klWindows;
  bool json = false;
};

/// Windows compared with the reference device when the user does not say; it runs at about 2 GMAC/s.
constexpr uint32_t kDefaultKlWindows = 3;

/// Files of ids or text above this are no prompts: their parse alone would take the machine's memory.
constexpr uint64_t kMaxTextBytes = 64U << 20;

Result<std::string> readText(const std::string& path) {
  FIRN_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  if (file.size() > kMaxTextBytes) {
    return invalidArgument(path + ": found " + std::to_string(file.size()) + " bytes, expected at most " +
                           std::to_string(kMaxTextBytes));
  }
  const auto bytes = file.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// A JSON array of integers.
Result<std::vector<int32_t>> readIds(const std::string& path) {
  FIRN_ASSIGN_OR_RETURN(const std::string text, readText(path));
  const nlohmann::json array = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!array.is_array()) return invalidArgument(path + ": expected a JSON array of token ids, like [1, 2, 3]");
  std::vector<int32_t> ids;
  for (const nlohmann::json& value : array) {
    const bool fits = value.is_number_integer() && value >= INT32_MIN && value <= INT32_MAX;
    if (!fits) return invalidArgument(path + ": element " + std::to_string(ids.size()) + " is no 32-bit integer");
    ids.push_back(value.get<int32_t>());
  }
  return ids;
}

/// Those of a file have its name in their refusal.
Status checkFileIds(const std::string& path, std::span<const int32_t> ids, uint32_t vocab) {
  return engine::checkIds(ids, vocab).withPlace(printablePath(path));
}

/// Feeds one id at a time.
Status evaluateSteps(engine::Session& session, std::span<const int32_t> ids, const engine::Session::LogitsSink& sink) {
  for (uint32_t i = 0; i < ids.size(); ++i) {
    if (interrupted().load()) return cancelled("interrupted");
    FIRN_ASSIGN_OR_RETURN(const std::span<const float> logits, session.decode(ids[i]));
    FIRN_RETURN_IF_ERROR(sink(i, 1, logits));
  }
  return Status::ok();
}

Status evalLogits(const LogitsOptions& options) {
  FIRN_RETURN_IF_ERROR(checkOutput(options.output, "-o", options.model.inputs({options.idsFile})));
  FIRN_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, readIds(options.idsFile));
  if (ids.empty()) return invalidArgument(options.idsFile + ": the prompt has no tokens");
  const auto check = [&](const PlannedLimits& limits) -> Status {
    FIRN_RETURN_IF_ERROR(checkPromptLength(ids.size(), limits));
    return checkFileIds(options.idsFile, ids, limits.vocab);
  };
  FIRN_ASSIGN_OR_RETURN(const OpenModel open, openModel(options.model, check));
  FIRN_RETURN_IF_ERROR(checkFileIds(options.idsFile, ids, open.model->limits().vocab));
  FIRN_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Session> session, engine::Session::create(open.model));
  FIRN_ASSIGN_OR_RETURN(SafetensorsWriter writer,
                        SafetensorsWriter::create(options.output, "logits", ids.size(), open.model->limits().vocab));
  ProgressBar bar("eval logits");
  const engine::Session::LogitsSink sink = [&](uint32_t first, uint32_t count, std::span<const float> logits) {
    if (interrupted().load()) return cancelled("interrupted");
    bar.update("tokens", first + count, ids.size());
    const size_t vocab = logits.size() / count;
    for (uint32_t i = 0; i < count; ++i) {
      const Status numbers = genai::checkLogits(logits.subspan(i * vocab, vocab));
      FIRN_RETURN_IF_ERROR(numbers.withPlace("position " + std::to_string(first + i)));
    }
    return writer.append(logits);
  };
  FIRN_RETURN_IF_ERROR(options.step ? evaluateSteps(*session, ids, sink) : session->evaluate(ids, sink));
  return writer.close();
}

/// The same model on the reference device alone, whatever runs `model`; empty when that is a blob, whose targets are
/// fixed.
Result<std::unique_ptr<engine::Session>> openReference(const ModelChoice& model) {
  FIRN_ASSIGN_OR_RETURN(const bool blob, isBlob(model.path));
  if (blob) return std::unique_ptr<engine::Session>();
  ModelChoice choice = model;
  choice.compile.device = "reference";
  choice.compile.prefillDevice.clear();
  choice.compile.decodeDevice.clear();
  choice.compile.place.clear();
  choice.compile.machine.clear();
  choice.compile.kvType.clear();  // f32: the oracle rounds nothing
  choice.compile.threads = 1;
  FIRN_ASSIGN_OR_RETURN(const OpenModel open, openModel(choice));
  return engine::Session::create(open.model);
}

void printPerplexity(const PerplexityResult& result, uint32_t window, bool json) {
  if (json) {
    nlohmann::ordered_json object = {{"perplexity", result.perplexity},
                                     {"windows", result.windowNll.size()},
                                     {"scored", result.scored},
                                     {"window_nll", result.windowNll}};
    if (!result.windowKl.empty()) {
      object["mean_kl"] = result.meanKl;
      object["window_kl"] = result.windowKl;
    }
    std::cout << object.dump() << "\n";
    return;
  }
  std::cout << "perplexity " << result.perplexity << " over " << counted(result.windowNll.size(), "window") << " of "
            << counted(window, "token") << ", " << counted(result.scored, "token") << " scored\n";
  if (!result.windowKl.empty()) {
    std::cout << "mean KL divergence from the reference device " << result.meanKl << " nats over "
              << counted(result.windowKl.size(), "window") << "\n";
  }
}

Result<std::vector<int32_t>> encode(const std::string& text, const OpenModel& open, const std::string& path) {
  const auto image = open.model->blob().tokenizer();
  if (image.empty()) {
    return unsupported(path + ": the model has no tokenizer that firn reads; give token ids with --ids");
  }
  FIRN_ASSIGN_OR_RETURN(const genai::Tokenizer tokenizer, genai::Tokenizer::open(image));
  return encodeText(tokenizer, text);
}

Status evalPerplexity(EvalPerplexityOptions options) {
  if (options.textFile.empty() == options.idsFile.empty()) {
    return invalidArgument("give either a text file or --ids FILE");
  }
  std::vector<int32_t> ids;  // empty until the text is encoded; one without tokens is refused
  std::string text;
  if (options.idsFile.empty()) {
    FIRN_ASSIGN_OR_RETURN(text, readText(options.textFile));
  } else {
    FIRN_ASSIGN_OR_RETURN(ids, readIds(options.idsFile));
  }
  const auto check = [&](const PlannedLimits& limits) -> Status {
    if (!options.idsFile.empty()) {
      FIRN_RETURN_IF_ERROR(checkWindow(options.perplexity, ids.size(), limits.maxPromptTokens));
      return checkFileIds(options.idsFile, ids, limits.vocab);
    }
    return withTokenizer(options.model.path, "--ids FILE", [&](const genai::Tokenizer& tokenizer) -> Status {
      FIRN_ASSIGN_OR_RETURN(ids, encodeText(tokenizer, text));
      return checkWindow(options.perplexity, ids.size(), limits.maxPromptTokens);
    });
  };
  FIRN_ASSIGN_OR_RETURN(const OpenModel open, openModel(options.model, check));
  if (options.idsFile.empty() && ids.empty()) {  // not encoded before a compile
    FIRN_ASSIGN_OR_RETURN(ids, encode(text, open, options.model.path));
  }
  if (!options.idsFile.empty()) FIRN_RETURN_IF_ERROR(checkFileIds(options.idsFile, ids, open.model->limits().vocab));
  FIRN_ASSIGN_OR_RETURN(const std::unique_ptr<engine::Session> session, engine::Session::create(open.model));
  std::unique_ptr<engine::Session> reference;
  const bool isReference = open.model->blob().targets() == std::vector{blob::Target::kReference};
  options.perplexity.klWindows = options.klWindows.value_or(isReference ? 0 : kDefaultKlWindows);
  if (options.perplexity.klWindows > 0) {
    FIRN_ASSIGN_OR_RETURN(reference, openReference(options.model));
    if (reference == nullptr && options.klWindows) {
      return invalidArgument("--kl-windows needs the model file: the targets of a blob are fixed");
    }
  }
  options.perplexity.reference = reference.get();
  auto bar = std::make_unique<ProgressBar>("eval perplexity");
  options.perplexity.progress = [&bar](uint32_t done, uint32_t total) {
    bar->update("windows", done, total);
    return !interrupted().load();
  };
  FIRN_ASSIGN_OR_RETURN(const PerplexityResult result, measurePerplexity(*session, ids, options.perplexity));
  bar.reset();  // clears its line before the result
  printPerplexity(result, options.perplexity.window, options.json);
  return Status::ok();
}

void addLogits(CLI::App& parent, Action& action) {
  auto options = std::make_shared<LogitsOptions>();
  CLI::App* command = parent.add_subcommand("logits", "Write the logits of every position as safetensors");
  options->model.addTo(*command);
  command->add_option("--ids", options->idsFile, "File with a JSON array of token ids")->required();
  command->add_option("-o,--output", options->output, "File to write: tensor logits f32[n, vocab]")->required();
  command->add_flag("--step", options->step, "Feed one token at a time");
  command->callback([options, &action] { action = [options] { return evalLogits(*options); }; });
}

void addPerplexity(CLI::App& parent, Action& action) {
  auto options = std::make_shared<EvalPerplexityOptions>();
  CLI::App* command =
      parent.add_subcommand("perplexity", "Perplexity of a text, and KL divergence from the reference device");
  options->model.addTo(*command);
  command->add_option("text", options->textFile, "The text file");
  command->add_option("--ids", options->idsFile, "File with a JSON array of token ids, instead of a text");
  addNumber(*command, "--window", options->perplexity.window,
            "Tokens of a window; the second half of each is scored (default: 512)", {4, 1 << 20});
  addNumber(*command, "--max-windows", options->perplexity.maxWindows, "Score only the first windows", {1, UINT32_MAX});
  addNumber(*command, "--kl-windows", options->klWindows,
            "Windows compared with the reference device (default: 3 for a GGUF on cpu; slow)", {0, UINT32_MAX});
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options, &action] { action = [options] { return evalPerplexity(*options); }; });
}

}  // namespace

void addEvalCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("eval", "Evaluate a model");
  command->require_subcommand(1);
  addLogits(*command, action);
  addPerplexity(*command, action);
}

}  // namespace firn::tools
