// firn inspect: what is in a blob.
#include <iostream>
#include <memory>

#include "blob/dump.h"
#include "blob/plan.h"
#include "blob/reader.h"
#include "tools/command.h"
#include "tools/file_kind.h"

namespace firn::tools {
namespace {

struct InspectOptions {
  std::string blob;
  bool verify = false;
  bool tasks = false;
  bool plan = false;
  bool json = false;
};

Status inspect(const InspectOptions& options) {
  FIRN_ASSIGN_OR_RETURN(const bool isCompiled, isBlob(options.blob));
  if (!isCompiled) {
    return unsupported(options.blob +
                       " is no blob (it begins with other bytes than an ELF file); of a GGUF model, firn compile MODEL "
                       "-o FILE.firn makes one");
  }
  FIRN_ASSIGN_OR_RETURN(const blob::Blob blob, blob::Blob::open(options.blob));
  const blob::DumpOptions dump{.tasks = options.tasks};
  const auto print = [](std::string_view text) { std::cout << text; };
  if (options.plan) {
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
  command->add_flag("--plan", options->plan, "Show only where each function runs, and why")
      ->excludes(tasks)
      ->excludes(json);
  command->callback([options, &action] { action = [options] { return inspect(*options); }; });
}

}  // namespace firn::tools
