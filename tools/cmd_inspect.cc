// firn inspect: what is in a blob.
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "base/atomic_file.h"
#include "base/concat.h"
#include "base/joined.h"
#include "base/quote.h"
#include "blob/dump.h"
#include "blob/plan.h"
#include "blob/reader.h"
#include "tools/command.h"
#include "tools/file_kind.h"
#include "tools/number_option.h"
#include "tools/output_file.h"
#include "tools/timeline/timeline_svg.h"

namespace firn::tools {
namespace {

struct InspectOptions {
  std::string blob;
  bool verify = false;
  bool tasks = false;
  bool plan = false;
  bool json = false;
  std::string timeline;  ///< file of a picture; empty: none
  std::string entry;     ///< of the picture; empty: the first that generates
  std::optional<uint32_t> layer;
};

/// The entry that is drawn, and of it the layer.
Result<TimelineChoice> timelineChoice(const InspectOptions& options, const blob::Blob& blob) {
  TimelineChoice choice;
  const auto entries = blob.entries();
  const auto isChosen = [&](const blob::EntryRecord& entry) {
    if (!options.entry.empty()) return blob.string(entry.name) == options.entry;
    return entry.kind == blob::EntryKind::kGenerate && entry.target == blob::Target::kNpu;
  };
  const auto found = std::ranges::find_if(entries, isChosen);
  if (found == entries.end()) {
    if (options.entry.empty()) {
      return invalidArgument(concat(blob.path(), ": no entry generates on npu; --entry chooses one for npu"));
    }
    return notFound(concat(blob.path(), ": there is no entry ", firn::quoted(options.entry), "; there are ",
                           joined(entries, ", ", [&](const auto& entry) { return blob.string(entry.name); })));
  }
  choice.entry = static_cast<uint32_t>(found - entries.begin());
  const auto calls = blob.callsOf(*found);
  const auto hasLayer = [](const blob::CallRecord& call) { return call.layer != blob::kNoLayer; };
  const auto first = std::ranges::find_if(calls, hasLayer);
  choice.layer = options.layer.value_or(first == calls.end() ? blob::kNoLayer : first->layer);
  return choice;
}

Status drawTimeline(const InspectOptions& options, const blob::Blob& blob) {
  FIRN_ASSIGN_OR_RETURN(const TimelineChoice choice, timelineChoice(options, blob));
  const bool isPage = std::filesystem::path(options.timeline).extension() == ".html";
  FIRN_ASSIGN_OR_RETURN(const std::string text, isPage ? timelineHtml(blob, choice) : timelineSvg(blob, choice));
  return writeFileAtomically(options.timeline, std::as_bytes(std::span(text)));
}

Status checkTimeline(const InspectOptions& options) {
  if (options.timeline.empty()) {
    if (options.entry.empty() && !options.layer) return Status::ok();
    return invalidArgument("--entry and --layer say what --timeline draws: give it too");
  }
  const std::string extension = std::filesystem::path(options.timeline).extension();
  if (extension != ".svg" && extension != ".html") {
    return invalidArgument("--timeline is " + firn::quoted(options.timeline) + ", expected FILE.svg or FILE.html");
  }
  return checkOutput(options.timeline, "--timeline", {.others = {options.blob}});
}

Status inspect(const InspectOptions& options) {
  FIRN_RETURN_IF_ERROR(checkTimeline(options));
  FIRN_ASSIGN_OR_RETURN(const bool isCompiled, isBlob(options.blob));
  if (!isCompiled) {
    return unsupported(options.blob +
                       " is no blob (it begins with other bytes than an ELF file); of a GGUF model, firn compile MODEL "
                       "-o FILE.firn makes one");
  }
  FIRN_ASSIGN_OR_RETURN(const blob::Blob blob, blob::Blob::open(options.blob));
  const blob::DumpOptions dump{.tasks = options.tasks};
  const auto print = [](std::string_view text) { std::cout << text; };
  if (!options.timeline.empty()) {
    FIRN_RETURN_IF_ERROR(drawTimeline(options, blob));
  } else if (options.plan) {
    print(blob::planText(blob));
  } else {
    (options.json ? blob::dumpJson : blob::dumpText)(blob, dump, print);
  }
  std::cout << std::flush;
  if (!options.verify) return Status::ok();
  FIRN_RETURN_IF_ERROR(blob.verifyWeights());
  std::cerr << "weights verified\n";
  return Status::ok();
}

}  // namespace

void addInspectCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand("inspect", "Show what is in a blob");
  command->add_option("blob", options->blob, "A blob made by firn compile")->required();
  command->add_flag("--verify", options->verify, "Read all weights and check their hash");
  CLI::Option* tasks = command->add_flag("--tasks", options->tasks, "Show every task with its operands and addresses");
  CLI::Option* json = command->add_flag("--json", options->json, "Print one JSON object");
  CLI::Option* plan = command->add_flag("--plan", options->plan, "Show only where each function runs, and why")
                          ->excludes(tasks)
                          ->excludes(json);
  command
      ->add_option("--timeline", options->timeline,
                   "Draw the schedule of one layer on the npu instead: its queues, tasks and CMX (FILE.svg, FILE.html)")
      ->excludes(tasks)
      ->excludes(json)
      ->excludes(plan);
  command->add_option("--entry", options->entry, "Entry that --timeline draws (default: the first generate)");
  addNumber(*command, "--layer", options->layer, "Layer that --timeline draws (default: the first)", {0, UINT32_MAX});
  command->callback([options, &action] { action = [options] { return inspect(*options); }; });
}

}  // namespace firn::tools
