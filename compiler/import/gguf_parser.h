// Verifies the bytes of one GGUF file (one shard) and lists its keys and tensors as views. Every count, length, type,
// dimension and offset is checked against the bytes that are really there before anything is allocated for it.
// Not here: shards (gguf_reader.h), meanings of keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/import/gguf_reader.h"

namespace firn::import {

/// Limits beyond the format's own; real files stay far below.
inline constexpr uint64_t kMaxGgufKeys = 1U << 16;
inline constexpr uint64_t kMaxGgufTensors = 1U << 16;
inline constexpr uint64_t kMaxGgufKeyBytes = (1U << 16) - 1;  ///< the format's limit
inline constexpr uint64_t kMaxGgufNameBytes = 64;             ///< the format's limit
inline constexpr uint64_t kMinGgufAlignment = 8;              ///< the format's limit
inline constexpr uint64_t kMaxGgufAlignment = 1U << 20;

struct GgufKey {
  std::string_view name;
  GgufValue value;
};

struct ParsedGguf {
  uint32_t version = 0;
  std::vector<GgufKey> keys;        ///< in file order, names distinct
  std::vector<GgufTensor> tensors;  ///< in file order, names distinct, data inside the file and disjoint
  uint64_t metadataBytes = 0;       ///< header, keys and tensor list; tensor data follows, aligned
};

/// Parses `file`; views point into it. Messages name key or tensor but not the file.
Result<ParsedGguf> parseGguf(std::span<const std::byte> file);

}  // namespace firn::import
