// What a compiled model of the cache is, as the blob itself tells it: for people and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/model_cache.h"

namespace firn::tools {

struct CacheEntry {
  CacheFile file;
  bool isWhole = false;  ///< false: no blob that can be used, and nothing below is known but `flaw`
  std::string flaw;      ///< why not, in a few words
  std::string model;     ///< of its card
  std::string device;
  std::string machine;      ///< that device npu is; empty: none
  bool hasWeights = false;  ///< false: it can only be inspected and simulated
  uint32_t threads = 0;
  uint32_t maxPromptTokens = 0;
  uint32_t minResponseTokens = 0;
  std::vector<uint32_t> prefillChunks;  ///< ascending, as those below
  std::vector<uint32_t> contexts;
  std::vector<uint32_t> batches;
  std::string kvType;
  uint64_t kvBytes = 0;
  std::string places;                ///< placementText of a blob for several devices; empty: one runs it all
  nlohmann::ordered_json placement;  ///< placementJson
};

/// Reads all of the file but its weights.
CacheEntry readCacheEntry(const CacheFile& file);

/// One line without its end. `now` in seconds since the epoch, here and below.
std::string cacheEntryLine(const CacheEntry& entry, int64_t now);
/// The names are those of firn compile --json.
nlohmann::ordered_json cacheEntryJson(const CacheEntry& entry, int64_t now);

/// The entries that `name` means: that of this path, those of the model of this name, or the one whose file name begins
/// so. not_found: none; invalid_argument: several file names begin so.
Result<std::vector<CacheFile>> entriesNamed(const std::string& name, const std::vector<CacheEntry>& entries);

}  // namespace firn::tools
