// The hyper-parameters of a model: keys "<architecture>.<suffix>" of a GGUF file, checked against limits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "compiler/import/gguf_reader.h"

namespace firn::import {

/// A key that changes what a model computes in a way that firn does not. The file is refused unless the key is absent
/// or has one of two neutral values (false is 0, true is 1).
struct RefusedKey {
  std::string_view suffix;
  double neutral;
  double alsoNeutral;
  std::string_view meaning;  ///< for the message: "a mixture of experts"
};

/// Reads keys of `file`, which must outlive it. Every refusal names file, key, found and expected. Any thread.
class ArchitectureKeys {
 public:
  ArchitectureKeys(const GgufFile& file, std::string_view architecture) : file_(file), prefix_(architecture) {
    prefix_ += '.';
  }

  /// What stands for a key that is absent, and what it is made from, for a refusal.
  struct Derived {
    uint64_t value = 0;
    std::string_view source;
  };
  /// The count, from 1 to `most`; `fallback` where the key is absent, refused where there is none.
  Result<uint32_t> count(std::string_view suffix, uint32_t most, std::optional<Derived> fallback = {}) const;
  /// The same for a key that may be an array with one value per layer: refused by name when the layers differ.
  Result<uint32_t> layerCount(std::string_view suffix, uint32_t layers, uint32_t most,
                              std::optional<Derived> fallback = {}) const;
  /// The number, finite, above `above` (in f32 as well) and at most `most`; `fallback` where the key is absent.
  struct RealRange {
    double above = 0;
    double most = 0;
  };
  Result<double> real(std::string_view suffix, RealRange range, std::optional<double> fallback = {}) const;
  /// nullopt where the key is absent.
  Result<std::optional<std::string_view>> text(std::string_view suffix) const;

  bool has(std::string_view suffix) const { return file_.find(key(suffix)) != nullptr; }
  Status refuse(std::span<const RefusedKey> keys) const;

  std::string key(std::string_view suffix) const { return prefix_ + std::string(suffix); }
  /// A Status about one key: "FILE: key 'llama.x' WHAT".
  Status corruptKey(std::string_view suffix, const std::string& what) const;
  Status unsupportedKey(std::string_view suffix, const std::string& what) const;

 private:
  Result<uint32_t> inRange(std::string_view suffix, uint64_t value, uint32_t most, std::string_view source) const;

  const GgufFile& file_;
  std::string prefix_;
};

}  // namespace firn::import
