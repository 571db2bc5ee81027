// Reads GGUF v2 and v3 files, single or split, by mapping: the metadata is verified once, tensors and values are views.
// Knows nothing about architectures or tokenizers. Format: docs/gguf.md of the ggml project.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_state.h"
#include "base/status.h"
#include "compiler/import/ggml_types.h"
#include "compiler/import/gguf_value.h"

namespace firn::import {

/// A tensor of a file. Dimensions in GGUF's order: dims[0] is the row length (K), contiguous; unused ones are 1.
struct GgufTensor {
  std::string_view name;
  std::array<uint64_t, 4> dims{1, 1, 1, 1};
  uint32_t rank = 0;  ///< as written, 1..4
  const GgmlType* type = nullptr;
  std::span<const std::byte> bytes;
};

/// A verified GGUF file with all its shards. Immutable; safe to read from any thread; movable. Every view it hands out
/// lives as long as it (or any holder of `storage()`) does.
class GgufFile {
 public:
  /// Maps and verifies the file at `path`. The first shard of a split file (`<p>-00001-of-0000N.gguf`) loads all; any
  /// other shard is refused with the name of the first. Costs a walk over the metadata, none over tensor data.
  static Result<GgufFile> open(const std::string& path);
  /// The same for bytes in memory, which must outlive the file; `name` stands in messages. Shards are not resolved.
  static Result<GgufFile> fromMemory(std::span<const std::byte> bytes, std::string name);

  const std::string& path() const { return path_; }
  uint32_t version() const { return version_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }

  /// The value of a key, or nullptr. The keys of a split file are those of its first shard.
  const GgufValue* find(std::string_view key) const;
  /// The tensor of that name, or nullptr.
  const GgufTensor* findTensor(std::string_view name) const;

  /// Typed access: nullopt when the key is absent, a Status naming file, key, found and expected type when it has
  /// another type. Integers may be stored in any width; getU64 refuses negative ones.
  Result<std::optional<uint64_t>> getU64(std::string_view key) const;
  Result<std::optional<double>> getFloat(std::string_view key) const;
  Result<std::optional<bool>> getBool(std::string_view key) const;
  Result<std::optional<std::string_view>> getString(std::string_view key) const;
  Result<std::optional<GgufStrings>> getStrings(std::string_view key) const;

  /// Each file in order: its path, header and metadata (all bytes before its tensor data), size, and its state before
  /// it was opened (base/file_state.h; of bytes in memory none).
  struct ShardView {
    std::string path;
    std::span<const std::byte> metadata;
    uint64_t fileBytes;
    FileState state;
  };
  const std::vector<ShardView>& shards() const { return shards_; }

  /// Keeps the mappings alive.
  std::shared_ptr<const void> storage() const { return storage_; }

 private:
  struct Storage;
  GgufFile() = default;
  Status addFirst(std::span<const std::byte> bytes, const FileState& state);
  Status addShard(uint64_t index, uint64_t count, const std::string& path);
  Status addTensors(const std::vector<GgufTensor>& tensors);
  Status resolveShards();
  Status wrongType(std::string_view key, const GgufValue& found, std::string_view expected) const;

  std::string path_;
  uint32_t version_ = 0;
  // Ordered, not hashed: a file must not be able to choose colliding hashes.
  std::map<std::string_view, GgufValue> keys_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string_view, uint32_t> tensorIndex_;
  std::vector<ShardView> shards_;
  std::shared_ptr<Storage> storage_;
};

}  // namespace firn::import
