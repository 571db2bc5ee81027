// firn cache: lists or clears the compiled models.
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include "base/quote.h"
#include "blob/names.h"
#include "blob/reader.h"

#include "tools/command.h"
#include "tools/model_cache.h"

namespace firn::tools {
namespace {

/// Model, device and limits of a blob, as its card says; what is no whole blob is said to be that.
std::string describe(const std::string& path) {
  const auto blob = blob::Blob::open(path);
  if (!blob) return "(no finished blob)";
  const nlohmann::json card = nlohmann::json::parse(blob->card(), nullptr, /*allow_exceptions=*/false);
  const std::string name = card.is_object() && card.contains("name") && card["name"].is_string()
                               ? card["name"].get<std::string>()
                               : "unnamed";
  return printableText(name) + ", " + std::string(blob::targetName(blob->ident().target)) + ", " +
         std::to_string(blob->ident().lanes) + " threads, prompt " + std::to_string(blob->header().maxPromptTokens) +
         " + response " + std::to_string(blob->header().minResponseTokens) + " tokens";
}

Status list() {
  FIRN_ASSIGN_OR_RETURN(const std::vector<CacheFile> files, listCache());
  uint64_t total = 0;
  for (const CacheFile& file : files) {
    std::printf("%10.1f MB  %s  %s\n", static_cast<double>(file.bytes) * 1e-6, printablePath(file.path).c_str(),
                describe(file.path).c_str());
    total += file.bytes;
  }
  std::printf("%10.1f MB in %zu files, most recently used first; the limit is 20 GB\n",
              static_cast<double>(total) * 1e-6, files.size());
  return Status::ok();
}

Status clear() {
  FIRN_ASSIGN_OR_RETURN(const uint64_t freed, clearCache());
  std::printf("freed %.1f MB\n", static_cast<double>(freed) * 1e-6);
  return Status::ok();
}

}  // namespace

void addCacheCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("cache", "Show or clear the compiled models");
  command->require_subcommand(1);
  command->add_subcommand("list", "Show them, most recently used first")->callback([&action] { action = list; });
  command->add_subcommand("clear", "Remove them all")->callback([&action] { action = clear; });
}

}  // namespace firn::tools
