// The cache of compiled models: a GGUF given where a blob is expected is compiled once.
// Files lie in $XDG_CACHE_HOME/firn/blobs (~/.cache/firn/blobs); together at most 20 GB, least recently used go first.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "blob/reader.h"

namespace firn::tools {

/// The least recently used files beyond it are removed after a compile.
inline constexpr uint64_t kCacheLimitBytes = 20'000'000'000;

/// What a user may choose about a compile; the same names and defaults as the options of firn-compile. 0 or empty: its
/// default.
struct CompileChoice {
  std::string device;         ///< empty: cpu
  std::string prefillDevice;  ///< empty: device
  std::string decodeDevice;   ///< empty: device
  std::string machine;        ///< of device npu: a name or a path (machine_files.h); empty: its default
  std::string place;          ///< of single layers and the head (compiler/placement.h); empty: nothing
  uint32_t maxPromptLen = 0;
  uint32_t minResponseLen = 0;
  std::string kvType;  ///< of the cache; empty: the device's own
  std::vector<uint32_t> prefillChunks;
  std::vector<uint32_t> contexts;
  std::vector<uint32_t> batches;
  uint32_t threads = 0;    ///< lanes; 0: the CPUs of this process
  bool hasWeights = true;  ///< false: the blob can only be simulated
};

/// Where the blob of a model is, and whether it had to be made.
struct CachedBlob {
  std::string path;
  Hash128 modelHash;  ///< of the model that it is of
  bool compiled = false;
};

/// One file of the cache, or what stands in place of one.
struct CacheFile {
  std::string path;
  uint64_t bytes = 0;     ///< that go when it is removed: of a link or a folder none
  int64_t lastUseNs = 0;  ///< nanoseconds since the epoch
};

/// The blob of GGUF `modelPath` for `choice`: found in the cache, or compiled into it by firn-compile, which shows its
/// progress on standard error. The key holds everything that matters: real path, size, time of change, header and
/// metadata of the model, every choice, lanes, target and the compiler's id. Two processes that miss at once both
/// compile; the last rename wins. `check` is called before a compile, which does not begin when it fails.
Result<CachedBlob> cachedBlob(const std::string& modelPath, const CompileChoice& choice,
                              const std::function<Status()>& check = {});

/// Opens it. The errors of Blob::open; corrupt too when a blob of another model lies under the name.
Result<blob::Blob> openCached(const CachedBlob& cached);

/// Says so on standard error when XDG_CACHE_HOME is ignored. Once for a process, however often it is called.
void noteIgnoredCacheHome();
/// The folder of the cache, which may not be there yet.
Result<std::string> cacheFolder();
/// Its files, most recently used first, without what killed compiles left: that is removed.
Result<std::vector<CacheFile>> listCache();
/// Removes `files` of listCache(), which no compile is writing; gives the bytes freed. One that is in use stays
/// readable for who has opened it. What cannot be removed, as a folder with something in it, stays, and is named when
/// all others are gone, with the bytes that they freed.
Result<uint64_t> removeFromCache(const std::vector<CacheFile>& files);
/// Removes all of them but those that a compile is writing; gives the bytes freed.
Result<uint64_t> clearCache();

}  // namespace firn::tools
