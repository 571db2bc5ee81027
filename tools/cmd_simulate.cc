// firn simulate: how long a prompt and its answer take on a machine of the npu target, without computing them.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/align.h"
#include "base/concat.h"
#include "base/quote.h"
#include "compiler/ladders.h"
#include "compiler/target/npu/machine_files.h"
#include "engine/simulation.h"
#include "tools/command.h"
#include "tools/file_kind.h"
#include "tools/model_source.h"
#include "tools/name_options.h"
#include "tools/number_option.h"
#include "tools/progress_bar.h"
#include "tools/timeline/context_sweep.h"
#include "tools/timeline/simulation_report.h"

namespace firn::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct SimulateOptions {
  std::string model;
  std::string machine;  ///< a name or a file; empty: a blob's own, or the default
  std::optional<uint32_t> promptTokens;
  std::optional<uint32_t> decodeTokens;
  std::vector<uint32_t> contexts;  ///< a sweep; empty: none
  bool json = false;
};

constexpr uint32_t kUsualPromptTokens = 512;
constexpr uint32_t kUsualDecodeTokens = 128;
/// Of a sweep: the prompt fills the rest of each context.
constexpr uint32_t kUsualSweepTokens = 16;

/// What one length asks for.
struct Length {
  uint32_t context = 0;  ///< of a sweep; 0: there is none
  uint32_t promptTokens = 0;
  uint32_t decodeTokens = 0;
};

/// `limits` of a blob, within which what is not asked for stays; nullptr for a GGUF, which is compiled for what is.
Result<std::vector<Length>> lengthsOf(const SimulateOptions& options, const blob::ProgramHeader* limits) {
  if (options.contexts.empty()) {
    Length length = {.promptTokens = options.promptTokens.value_or(kUsualPromptTokens),
                     .decodeTokens = options.decodeTokens.value_or(kUsualDecodeTokens)};
    if (limits != nullptr && !options.promptTokens) {
      length.promptTokens = std::min(length.promptTokens, limits->maxPromptTokens);
    }
    if (limits != nullptr && !options.decodeTokens) {
      length.decodeTokens =
          std::min(length.decodeTokens, limits->kvRows - std::min(limits->kvRows, length.promptTokens));
    }
    return std::vector{length};
  }
  std::vector<Length> lengths;
  for (const uint32_t context : options.contexts) {
    const uint32_t decode = options.decodeTokens.value_or(kUsualSweepTokens);
    const uint32_t prompt = options.promptTokens.value_or(context - std::min(context, decode));
    if (prompt == 0 || prompt > context || decode > context - prompt) {
      return outOfRange(concat("--contexts: ", context, " rows hold no prompt of ", std::max(prompt, 1U), " and ",
                               decode, " steps (--prompt, --decode)"));
    }
    lengths.push_back({context, prompt, decode});
  }
  return lengths;
}

/// A program with room for the longest, and a variant for each context of a sweep.
CompileChoice compileFor(const SimulateOptions& options, std::span<const Length> lengths) {
  CompileChoice choice;
  choice.device = "npu";
  choice.machine = options.machine.empty() ? npu::kDefaultMachine : options.machine;
  const compiler::CompileOptions defaults;
  uint32_t prompt = options.contexts.empty() ? defaults.maxPromptTokens : 1;
  uint32_t rows = 0;
  for (const Length& length : lengths) {
    prompt = std::max(prompt, length.promptTokens);
    rows = std::max({rows, length.context, length.promptTokens + length.decodeTokens});
  }
  choice.maxPromptLen = roundUp(prompt, compiler::kSizeUnit);
  const uint32_t response = options.contexts.empty() ? defaults.minResponseTokens : 1;
  choice.minResponseLen = std::max(response, rows - std::min(rows, choice.maxPromptLen));
  choice.contexts = options.contexts;
  choice.hasWeights = false;
  return choice;
}

/// The blob of the model, for the machine that is asked for.
struct Subject {
  std::optional<blob::Blob> blob;
  std::vector<Length> lengths;
  Clock::time_point start;  ///< when the blob was there
};

/// Why `asked`, the name in the machine file of --machine, is not what the blob was compiled for.
Status otherMachine(const SimulateOptions& options, const blob::Blob& blob, const std::string& asked) {
  const auto own = machine::parseMachine(blob.machine(), options.model);
  const std::string leaveItOut =
      "; leave it out, or compile the model again with --device npu --machine " + options.machine;
  if (!own) {
    return invalidArgument(concat(options.model, ": the blob was compiled without a machine, --machine is ", asked,
                                  "; compile the model again with --device npu --machine ", options.machine));
  }
  if (own->name != asked) {
    return invalidArgument(
        concat(options.model, ": the blob was compiled for machine ", own->name, ", --machine is ", asked, leaveItOut));
  }
  return invalidArgument(concat(options.model, ": the blob was compiled for machine ", asked,
                                ", --machine is another file of that name: the two differ in some field", leaveItOut));
}

Status openBlob(const SimulateOptions& options, const std::string& machineText, const std::string& machineName,
                Subject& subject) {
  subject.start = Clock::now();
  FIRN_ASSIGN_OR_RETURN(subject.blob, blob::Blob::open(options.model));
  if (!options.machine.empty() && subject.blob->machine() != machineText) {
    return otherMachine(options, *subject.blob, machineName);
  }
  FIRN_ASSIGN_OR_RETURN(subject.lengths, lengthsOf(options, &subject.blob->header()));
  return Status::ok();
}

Result<Subject> openSubject(const SimulateOptions& options) {
  const std::string nameOrPath = options.machine.empty() ? npu::kDefaultMachine : options.machine;
  FIRN_ASSIGN_OR_RETURN(const std::string machineText, npu::machineText(nameOrPath));
  FIRN_ASSIGN_OR_RETURN(const machine::Machine machine, machine::parseMachine(machineText, nameOrPath));
  Subject subject;
  FIRN_ASSIGN_OR_RETURN(const bool isCompiled, isBlob(options.model));
  if (isCompiled) {
    FIRN_RETURN_IF_ERROR(openBlob(options, machineText, machine.name, subject));
    return subject;
  }
  FIRN_ASSIGN_OR_RETURN(subject.lengths, lengthsOf(options, nullptr));
  const auto open = [&](const CachedBlob& cached) -> Status {
    subject.start = Clock::now();
    FIRN_ASSIGN_OR_RETURN(subject.blob, openCached(cached));
    return Status::ok();
  };
  FIRN_RETURN_IF_ERROR(openCompiled(options.model, compileFor(options, subject.lengths), open).status());
  return subject;
}

Status simulate(const SimulateOptions& options) {
  FIRN_ASSIGN_OR_RETURN(Subject opened, openSubject(options));
  Result<engine::Simulator> made = engine::Simulator::create(*opened.blob);
  if (!made) return made.status().withPlace(printablePath(options.model));
  engine::Simulator& simulator = *made;
  std::vector<SimulatedLength> results;
  Clock::time_point start = opened.start;
  // A long context has chunks of seconds each.
  auto bar = std::make_unique<ProgressBar>("simulate");
  const auto progress = [&bar](std::string_view stage, uint64_t done, uint64_t total) {
    bar->update(stage, done, total);
    return !interrupted().load();
  };
  for (const Length& length : opened.lengths) {
    SimulatedLength& result = results.emplace_back();
    result.context = length.context;
    Result<engine::Simulation> simulation = simulator.run(length.promptTokens, length.decodeTokens, progress);
    if (!simulation) return simulation.status().withPlace(printablePath(options.model));
    result.simulation = *std::move(simulation);
    const Clock::time_point end = Clock::now();
    result.hostSeconds = std::chrono::duration<double>(end - start).count();
    start = end;
  }
  bar.reset();  // clears its line before the result
  const SimulatedSubject subject = {.machine = simulator.machine(), .blob = *opened.blob};
  if (!options.json) {
    std::cout << (options.contexts.empty() ? simulationText(results.front(), subject) : sweepText(results, subject));
    return Status::ok();
  }
  auto array = nlohmann::ordered_json::array();
  for (const SimulatedLength& result : results) array.push_back(simulationJson(result, subject));
  const nlohmann::ordered_json& json = options.contexts.empty() ? array.front() : array;
  // Names come from the file and may be no UTF-8.
  std::cout << json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  return Status::ok();
}

}  // namespace

void addSimulateCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* command =
      app.add_subcommand("simulate", "Tell how long a prompt and its answer take on an npu, without computing them");
  command->add_option("model", options->model, "A GGUF model, or a blob for device npu")->required();
  command->add_option("--machine", options->machine, machineHelp());
  const NumberRange tokens = {1, compiler::kMaxTokens};
  addNumber(*command, "--prompt", options->promptTokens, "Tokens of the prompt (default: 512)", tokens);
  addNumber(*command, "--decode", options->decodeTokens, "Steps behind it, a token each (default: 128; of a sweep 16)",
            {0, compiler::kMaxTokens});
  command
      ->add_option_function<std::string>(
          "--contexts",
          [options](const std::string& text) {
            options->contexts = internal::valueOrThrow(parseContexts(text, compiler::kMaxTokens), "--contexts");
          },
          "A line for each of several lengths: 256:32768:x2, 256:1024:+256 or 256,4096. The prompt fills what the "
          "steps "
          "leave, unless --prompt says otherwise")
      ->type_name("FIRST:LAST:xN");
  command->add_flag("--json", options->json, "Print one JSON object, of a sweep an array of them");
  command->callback([options, &action] { action = [options] { return simulate(*options); }; });
}

}  // namespace firn::tools
