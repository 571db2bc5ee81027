#include "tools/model_cache.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/concat.h"
#include "base/cpus.h"
#include "base/file_state.h"
#include "base/hash.h"
#include "base/joined.h"
#include "base/quote.h"
#include "compiler/compiler_id.h"
#include "compiler/import/gguf_reader.h"
#include "compiler/import/import.h"
#include "compiler/target/npu/machine_files.h"
#include "tools/child_process.h"
#include "tools/output_file.h"

namespace firn::tools {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr const char* kSuffix = ".firn";

uint32_t lanesOf(const CompileChoice& choice) {
  return choice.threads != 0 ? choice.threads : static_cast<uint32_t>(allowedCpus().size());
}

std::string deviceOf(const CompileChoice& choice) { return choice.device.empty() ? "cpu" : choice.device; }

/// Which file it is, and in which state.
Result<nlohmann::json> identityOf(const import::GgufFile::ShardView& shard) {
  std::error_code error;
  const fs::path real = fs::canonical(shard.path, error);
  if (error) return notFound(shard.path + ": " + error.message());
  const FileState& state = shard.state;
  return nlohmann::json{real.string(), state.bytes, state.modifiedNs, state.changedNs, state.device, state.inode};
}

/// Everything that a blob depends on, hashed. JSON keeps the parts apart.
Result<std::string> cacheKey(const import::GgufFile& model, const CompileChoice& choice) {
  nlohmann::json files = nlohmann::json::array();
  for (const import::GgufFile::ShardView& shard : model.shards()) {
    FIRN_ASSIGN_OR_RETURN(nlohmann::json file, identityOf(shard));
    files.push_back(std::move(file));
  }
  std::string machine;  // a file may change under its name
  if (!choice.machine.empty()) {
    FIRN_ASSIGN_OR_RETURN(machine, npu::machineText(choice.machine));
  }
  const nlohmann::json parts = {files,
                                toHex(import::sourceHash(model)),
                                deviceOf(choice),
                                choice.prefillDevice,
                                choice.decodeDevice,
                                choice.place,
                                machine,
                                choice.maxPromptLen,
                                choice.minResponseLen,
                                choice.kvType,
                                joined(choice.prefillChunks, ","),
                                joined(choice.contexts, ","),
                                joined(choice.batches, ","),
                                lanesOf(choice),
                                choice.hasWeights,
                                compiler::compilerId()};
  const std::string text = parts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return toHex(hash128(std::as_bytes(std::span(text))));
}

std::vector<std::string> compileArguments(const std::string& modelPath, const std::string& output,
                                          const CompileChoice& choice) {
  std::vector<std::string> arguments = {
      modelPath, "-o", output, "--device", deviceOf(choice), "--threads", std::to_string(lanesOf(choice)), "--quiet"};
  const auto add = [&](const char* option, const std::string& value) {
    if (value.empty() || value == "0") return;
    arguments.emplace_back(option);
    arguments.push_back(value);
  };
  if (!choice.hasWeights) add("--weights", "none");
  add("--prefill-device", choice.prefillDevice);
  add("--decode-device", choice.decodeDevice);
  add("--place", choice.place);
  add("--machine", choice.machine);
  add("--max-prompt-len", std::to_string(choice.maxPromptLen));
  add("--min-response-len", std::to_string(choice.minResponseLen));
  add("--kv-type", choice.kvType);
  add("--prefill-chunks", joined(choice.prefillChunks, ","));
  add("--contexts", joined(choice.contexts, ","));
  add("--batch", joined(choice.batches, ","));
  return arguments;
}

/// Removes the least recently used blobs beyond the limit, never `keep`.
Status trimCache(const std::string& keep) {
  FIRN_ASSIGN_OR_RETURN(const std::vector<CacheFile> files, listCache());
  uint64_t total = 0;
  for (const CacheFile& file : files) {
    total += file.bytes;
    std::error_code ignored;  // another process may have removed it first
    const bool isOld = !isTemporaryName(file.path) && total > kCacheLimitBytes && file.path != keep;
    if (isOld) fs::remove(file.path, ignored);
  }
  return Status::ok();
}

}  // namespace

Result<std::string> cacheFolder() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  // The XDG base directory specification: a relative path is to be ignored.
  const bool usesXdg = xdg != nullptr && fs::path(xdg).is_absolute();
  if (!usesXdg && (home == nullptr || *home == '\0')) {
    return notFound(
        "neither XDG_CACHE_HOME nor HOME is set: there is no place for compiled models. Set one, or use firn compile");
  }
  const fs::path base = usesXdg ? fs::path(xdg) : fs::path(home) / ".cache";
  return (base / "firn" / "blobs").string();
}

void noteIgnoredCacheHome() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg == nullptr || *xdg == '\0' || fs::path(xdg).is_absolute()) return;
  static std::atomic_flag isNoted;
  if (isNoted.test_and_set()) return;  // a command may open several models
  const auto folder = cacheFolder();
  std::cerr << "firn: note: XDG_CACHE_HOME is " << quoted(xdg)
            << ", no absolute path, and is ignored, as the XDG specification says"
            << (folder ? "; the cache is " + printablePath(*folder) : "") << "\n";
}

Result<blob::Blob> openCached(const CachedBlob& cached) {
  FIRN_ASSIGN_OR_RETURN(blob::Blob blob, blob::Blob::open(cached.path));
  if (blob.ident().modelHash == cached.modelHash) return blob;
  return corrupt(concat(cached.path, ": the model hash is ", toHex(blob.ident().modelHash), ", that of the model is ",
                        toHex(cached.modelHash), ": a blob of another model has its name; remove it"));
}

Result<std::vector<CacheFile>> listCache() {
  FIRN_ASSIGN_OR_RETURN(const std::string folder, cacheFolder());
  removeAbandonedTemporaries(folder);
  std::vector<CacheFile> files;
  std::error_code error;
  if (!fs::exists(folder, error) && !error) return files;
  // Another process may clear the folder meanwhile: the loop advances without exceptions.
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const fs::directory_entry& entry = *at;
    struct stat facts{};
    const bool isOurs = entry.path().extension() == kSuffix || isTemporaryName(entry.path().string());
    if (!isOurs || lstat(entry.path().c_str(), &facts) != 0) continue;
    const uint64_t bytes = S_ISREG(facts.st_mode) ? static_cast<uint64_t>(facts.st_size) : 0;
    struct stat target{};
    if (S_ISLNK(facts.st_mode) && stat(entry.path().c_str(), &target) == 0) facts = target;  // whose use is marked
    files.push_back({entry.path().string(), bytes, facts.st_mtim.tv_sec * kNsPerSecond + facts.st_mtim.tv_nsec});
  }
  if (error) return ioError("cannot read the cache folder " + folder + ": " + error.message());
  std::sort(files.begin(), files.end(),
            [](const CacheFile& a, const CacheFile& b) { return a.lastUseNs > b.lastUseNs; });
  return files;
}

Result<uint64_t> removeFromCache(const std::vector<CacheFile>& files) {
  uint64_t freed = 0;
  std::string left;
  for (const CacheFile& file : files) {
    std::error_code error;
    fs::remove(file.path, error);
    if (error) left += concat(left.empty() ? "" : "; ", printablePath(file.path), ": ", error.message());
    if (!error) freed += file.bytes;
  }
  if (left.empty()) return freed;
  std::array<char, 32> megabytes{};
  std::snprintf(megabytes.data(), megabytes.size(), "%.1f MB", static_cast<double>(freed) * 1e-6);
  return ioError(concat("cannot remove ", left, ". Remove it yourself, or make its folder writable and try again. ",
                        "Nothing else is left of what was to go: freed ", megabytes.data()));
}

Result<uint64_t> clearCache() {
  FIRN_ASSIGN_OR_RETURN(std::vector<CacheFile> files, listCache());
  std::erase_if(files, [](const CacheFile& file) { return isTemporaryName(file.path); });  // being written now
  return removeFromCache(files);
}

Result<CachedBlob> cachedBlob(const std::string& modelPath, const CompileChoice& choice,
                              const std::function<Status()>& check) {
  FIRN_ASSIGN_OR_RETURN(const import::GgufFile model, import::GgufFile::open(modelPath));
  FIRN_ASSIGN_OR_RETURN(const std::string key, cacheKey(model, choice));
  const Hash128 modelHash = import::sourceHash(model);
  FIRN_ASSIGN_OR_RETURN(const std::string folder, cacheFolder());
  const std::string path = folder + "/" + key + kSuffix;
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    fs::last_write_time(path, fs::file_time_type::clock::now(), error);  // marks the use; not vital
    return CachedBlob{path, modelHash, false};
  }
  if (check) FIRN_RETURN_IF_ERROR(check());
  constexpr std::string_view kElsewhere =
      ". Make it writable, set XDG_CACHE_HOME to another folder, or use firn compile MODEL -o FILE and run FILE";
  fs::create_directories(folder, error);
  if (error) return ioError(concat("cannot make the cache folder ", folder, ": ", error.message(), kElsewhere));
  if (access(folder.c_str(), W_OK) != 0) {
    return ioError(concat("cannot write into the cache folder ", folder, ": ", std::strerror(errno), kElsewhere));
  }
  // What else has the blob's name, as a folder or a link to nothing, is in its place.
  fs::remove(path, error);
  if (error) {
    return ioError(concat("cannot remove ", path, ", where the compiled model belongs: ", error.message(),
                          ". Move it away, set XDG_CACHE_HOME to another folder, or use firn compile MODEL -o FILE and "
                          "run FILE"));
  }
  FIRN_ASSIGN_OR_RETURN(const std::string program, siblingProgram("firn-compile"));
  const Status compiled = runProcess(program, compileArguments(modelPath, path, choice));
  if (!compiled.isOk()) {
    removeAbandonedTemporaries(folder);  // of this compile too, if it was killed
    return compiled;
  }
  FIRN_RETURN_IF_ERROR(trimCache(path));
  return CachedBlob{path, modelHash, true};
}

}  // namespace firn::tools
