// Compiled models for tests: a model of tests/data through the compiler once per set of options, sessions of the blob,
// and the logits of a prompt. Not here: recorded answers (tests/golden/recorded.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/driver.h"
#include "engine/session.h"

namespace firn::e2e {

/// The value, or an exception, which GoogleTest reports as a failure of the running test.
template <typename T>
T need(Result<T> result) {
  if (!result.isOk()) throw std::runtime_error(result.status().toString());
  return *std::move(result);
}
inline void need(const Status& status) {
  if (!status.isOk()) throw std::runtime_error(status.toString());
}

/// A new folder under the system's one for temporary files, removed with all it holds.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Options of a compile that is small and yet has several chunks and contexts: prompts of up to 128 tokens, T = 256,
/// chunks {16, 64, 128}, contexts {64, 128, 192, 256}. `model` is a path below tests/data.
compiler::CompileOptions smallCompile(const std::string& model, const std::string& target = "cpu", uint32_t lanes = 2);

/// The blob of `options` (outputPath aside), compiled once per process and removed at its end. Throws on failure.
std::string blobOf(const compiler::CompileOptions& options);

using SessionPtr = std::unique_ptr<engine::Session>;

/// A new session of the blob at `path`. Throws on failure.
SessionPtr openSession(const std::string& path, const engine::ModelOptions& options = {});
/// Of the blob of `compile`, on the devices that it is for.
SessionPtr openSession(const compiler::CompileOptions& compile, const engine::ModelOptions& options = {});

/// The logits f32[n, vocab] of every position of `ids`, appended to what the session holds, in chunks or one by one.
std::vector<float> chunkLogits(engine::Session& session, std::span<const int32_t> ids);
std::vector<float> stepLogits(engine::Session& session, std::span<const int32_t> ids);
/// The logits f32[vocab] that follow `ids`.
std::vector<float> lastLogits(engine::Session& session, std::span<const int32_t> ids);

/// `count` ids below `vocab`, always the same for a seed.
std::vector<int32_t> someIds(uint32_t count, uint32_t vocab, uint32_t seed = 1);

/// Index of the largest value.
int32_t likeliest(std::span<const float> logits);

/// Empty when both hold the same bits, else where they first differ.
std::string differenceInBits(std::span<const float> a, std::span<const float> b);

}  // namespace firn::e2e
