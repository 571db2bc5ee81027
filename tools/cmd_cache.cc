// firn cache: lists and removes the compiled models.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/quote.h"
#include "tools/cache_entry.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/model_cache.h"

namespace firn::tools {
namespace {

Result<std::vector<CacheEntry>> readCache() {
  FIRN_ASSIGN_OR_RETURN(const std::vector<CacheFile> files, listCache());
  std::vector<CacheEntry> entries;
  entries.reserve(files.size());
  for (const CacheFile& file : files) entries.push_back(readCacheEntry(file));
  return entries;
}

Status list(bool json) {
  FIRN_ASSIGN_OR_RETURN(const std::vector<CacheEntry> entries, readCache());
  FIRN_ASSIGN_OR_RETURN(const std::string folder, cacheFolder());
  const int64_t now = std::time(nullptr);
  uint64_t bytes = 0;
  for (const CacheEntry& entry : entries) bytes += entry.file.bytes;
  if (json) {
    nlohmann::ordered_json object = {{"folder", folder},
                                     {"bytes", bytes},
                                     {"limit_bytes", kCacheLimitBytes},
                                     {"entries", nlohmann::ordered_json::array()}};
    for (const CacheEntry& entry : entries) object["entries"].push_back(cacheEntryJson(entry, now));
    std::cout << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
    return Status::ok();
  }
  for (const CacheEntry& entry : entries) std::cout << cacheEntryLine(entry, now) << "\n";
  std::printf("%10.1f MB in %s of %s, most recently used first; the limit is %.0f GB\n",
              static_cast<double>(bytes) * 1e-6, counted(entries.size(), "file").c_str(), printablePath(folder).c_str(),
              static_cast<double>(kCacheLimitBytes) * 1e-9);
  return Status::ok();
}

Status freed(const Result<uint64_t>& bytes) {
  if (!bytes) return bytes.status();
  FIRN_ASSIGN_OR_RETURN(const std::string folder, cacheFolder());
  std::printf("freed %.1f MB in %s\n", static_cast<double>(*bytes) * 1e-6, printablePath(folder).c_str());
  return Status::ok();
}

Status removeNamed(const std::vector<std::string>& names) {
  FIRN_ASSIGN_OR_RETURN(const std::vector<CacheEntry> entries, readCache());
  std::vector<CacheFile> files;
  // All names are understood before anything is removed.
  for (const std::string& name : names) {
    FIRN_ASSIGN_OR_RETURN(const std::vector<CacheFile> named, entriesNamed(name, entries));
    for (const CacheFile& file : named) {
      if (isTemporaryName(file.path)) {
        return Status(
            Code::kUnavailable,
            printablePath(file.path) +
                " is no compiled model yet, a compile is writing it: end the compile, or wait until it is done");
      }
      const bool isNew = std::ranges::none_of(files, [&](const CacheFile& other) { return other.path == file.path; });
      if (isNew) files.push_back(file);
    }
  }
  for (const CacheFile& file : files) std::cout << "removing " << printablePath(file.path) << "\n";
  return freed(removeFromCache(files));
}

/// `command`, behind the note that the cache is not where the environment seems to put it.
Status noted(const Action& command) {
  noteIgnoredCacheHome();
  return command();
}

}  // namespace

void addCacheCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("cache", "Show or remove the compiled models");
  command->require_subcommand(1);
  auto json = std::make_shared<bool>(false);
  CLI::App* list = command->add_subcommand("list", "Show them, most recently used first");
  list->add_flag("--json", *json, "Print one JSON object");
  list->callback([json, &action] { action = [json] { return noted([json] { return tools::list(*json); }); }; });
  auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* remove = command->add_subcommand("remove", "Remove some of them");
  remove
      ->add_option("NAME", *names,
                   "The beginning of a file name that no other has, a path as list shows it, or a model's name, which "
                   "means all that were compiled from it")
      ->required();
  remove->callback([names, &action] { action = [names] { return noted([names] { return removeNamed(*names); }); }; });
  command->add_subcommand("clear", "Remove them all")->callback([&action] {
    action = [] { return noted([] { return freed(clearCache()); }); };
  });
}

}  // namespace firn::tools
