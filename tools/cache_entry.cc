#include "tools/cache_entry.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/atomic_file.h"
#include "base/dtype.h"
#include "base/joined.h"
#include "base/quote.h"
#include "blob/machine/machine.h"
#include "blob/names.h"
#include "blob/reader.h"
#include "tools/counted.h"
#include "tools/placement_report.h"

namespace firn::tools {
namespace {

std::string megabytes(uint64_t bytes) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f MB", static_cast<double>(bytes) * 1e-6);
  return text.data();
}

/// In seconds since the epoch.
int64_t lastUse(const CacheFile& file) { return file.lastUseNs / 1'000'000'000; }

/// "3 h ago": the largest unit that is not 0.
std::string ago(int64_t seconds) {
  if (seconds < 60) return "just now";
  if (seconds < 3600) return std::to_string(seconds / 60) + " min ago";
  if (seconds < 86400) return std::to_string(seconds / 3600) + " h ago";
  return counted(static_cast<uint64_t>(seconds / 86400), "day") + " ago";
}

/// The distinct sizes of the entries of `kind`.
std::vector<uint32_t> sizesOf(const blob::Blob& blob, blob::EntryKind kind, uint32_t blob::EntryRecord::* size) {
  std::set<uint32_t> sizes;
  for (const blob::EntryRecord& entry : blob.entries()) {
    if (entry.kind == kind) sizes.insert(entry.*size);
  }
  return {sizes.begin(), sizes.end()};
}

std::string nameOf(const blob::Blob& blob) {
  const nlohmann::json card = nlohmann::json::parse(blob.card(), nullptr, /*allow_exceptions=*/false);
  const bool hasName = card.is_object() && card.contains("name") && card["name"].is_string();
  return hasName ? card["name"].get<std::string>() : "unnamed";
}

/// Why a file of the cache is no blob, by what opening it said.
std::string flawOf(const CacheFile& file, const Status& status) {
  if (isTemporaryName(file.path)) return "being written";
  switch (status.code()) {
    case Code::kCorrupt: return "no finished blob";
    case Code::kVersionMismatch: return "a blob of another version of firn";
    case Code::kInvalidArgument: return "no file: removed by the next compile or firn cache clear";
    case Code::kNotFound: return "gone";
    default: return printableText(status.message());  // cannot be read, and why
  }
}

}  // namespace

CacheEntry readCacheEntry(const CacheFile& file) {
  CacheEntry entry;
  entry.file = file;
  const auto blob = blob::Blob::open(file.path);
  if (!blob) {
    entry.flaw = flawOf(file, blob.status());
    return entry;
  }
  const blob::ProgramHeader& header = blob->header();
  entry.isWhole = true;
  entry.model = nameOf(*blob);
  entry.device = blob::targetNames(blob->targets());
  if (const auto machine = machine::parseMachine(blob->machine(), file.path)) entry.machine = machine->name;
  entry.hasWeights = blob->hasWeights();
  entry.threads = blob->ident().lanes;
  entry.maxPromptTokens = header.maxPromptTokens;
  entry.minResponseTokens = header.minResponseTokens;
  entry.prefillChunks = sizesOf(*blob, blob::EntryKind::kPrefill, &blob::EntryRecord::rows);
  entry.contexts = sizesOf(*blob, blob::EntryKind::kGenerate, &blob::EntryRecord::context);
  entry.batches = sizesOf(*blob, blob::EntryKind::kBatch, &blob::EntryRecord::rows);
  entry.kvType = dtypeInfo(header.kvType)->name;
  entry.kvBytes = header.kvBytes;
  if (blob->targets().size() > 1) entry.places = placementText(*blob);
  entry.placement = placementJson(*blob);
  return entry;
}

std::string cacheEntryLine(const CacheEntry& entry, int64_t now) {
  std::array<char, 64> start{};
  std::snprintf(start.data(), start.size(), "%13s  %11s  ", megabytes(entry.file.bytes).c_str(),
                ago(now - lastUse(entry.file)).c_str());
  const std::string line = start.data() + printablePath(entry.file.path) + "  ";
  if (!entry.isWhole) return line + "(" + entry.flaw + ")";
  return line + printableText(entry.model) + ", " + entry.device +
         (entry.machine.empty() ? "" : " (machine " + printableText(entry.machine) + ")") +
         (entry.hasWeights ? ", " : ", no weights, ") + counted(entry.threads, "thread") + ", prompt " +
         std::to_string(entry.maxPromptTokens) + " + response " + std::to_string(entry.minResponseTokens) +
         " tokens, contexts " + joined(entry.contexts, ",") + ", batch " +
         (entry.batches.empty() ? "none" : joined(entry.batches, ",")) + ", KV " + entry.kvType + " " +
         megabytes(entry.kvBytes) + (entry.places.empty() ? "" : "; " + entry.places);
}

nlohmann::ordered_json cacheEntryJson(const CacheEntry& entry, int64_t now) {
  nlohmann::ordered_json json = {{"path", entry.file.path},
                                 {"bytes", entry.file.bytes},
                                 {"last_use", lastUse(entry.file)},
                                 {"age_s", now - lastUse(entry.file)},
                                 {"finished", entry.isWhole}};
  if (!entry.isWhole) {
    json["flaw"] = entry.flaw;
    return json;
  }
  json["model"] = entry.model;
  json["device"] = entry.device;
  if (!entry.machine.empty()) json["machine"] = entry.machine;
  json["weights"] = entry.hasWeights ? "blob" : "none";
  json["placement"] = entry.placement;
  json["threads"] = entry.threads;
  json["max_prompt_tokens"] = entry.maxPromptTokens;
  json["min_response_tokens"] = entry.minResponseTokens;
  json["prefill_chunks"] = entry.prefillChunks;
  json["contexts"] = entry.contexts;
  json["batch"] = entry.batches;
  json["kv_type"] = entry.kvType;
  json["kv_bytes"] = entry.kvBytes;
  return json;
}

Result<std::vector<CacheFile>> entriesNamed(const std::string& name, const std::vector<CacheEntry>& entries) {
  std::vector<CacheFile> named;
  std::vector<CacheFile> begun;
  std::string candidates;
  for (const CacheEntry& entry : entries) {
    const std::string fileName = std::filesystem::path(entry.file.path).filename().string();
    if (entry.file.path == name || (entry.isWhole && entry.model == name)) named.push_back(entry.file);
    if (!name.empty() && fileName.starts_with(name)) {
      begun.push_back(entry.file);
      candidates += " " + printablePath(fileName);
    }
  }
  if (!named.empty()) return named;
  if (begun.empty()) {
    return notFound("no compiled model is named " + firn::quoted(name) +
                    " or has a file name that begins so; firn cache list shows them");
  }
  if (begun.size() > 1) {
    return invalidArgument(firn::quoted(name) + " begins the names of " + counted(begun.size(), "file") + ":" +
                           candidates + "; give more of the one you mean");
  }
  return begun;
}

}  // namespace firn::tools
