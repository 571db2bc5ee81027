// Where the rows of a KV cache lie, and copies of them: between a cache and a packed form that holds nothing but valid
// rows. Not here: what the rows mean (session.h), files (snapshot.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blob/layout.h"

namespace firn::engine {

/// A cache is [heads][T][rowBytes], heads counting [layer][K, V][kvHead]. Packed rows are [heads][n][rowBytes].
struct KvLayout {
  uint32_t heads = 0;     ///< layers * 2 * kvHeads
  uint32_t rows = 0;      ///< T
  uint64_t rowBytes = 0;  ///< headDim elements

  static KvLayout of(const blob::ProgramHeader& header);

  /// Bytes of the first `count` rows of every head.
  uint64_t packedBytes(uint32_t count) const { return uint64_t{heads} * count * rowBytes; }
  /// Byte offset of row `row` of head `head` in a cache.
  uint64_t offset(uint32_t head, uint32_t row) const { return (uint64_t{head} * rows + row) * rowBytes; }

  /// Packs the first `count` rows of `cache` into `packed`, which has packedBytes(count) bytes.
  void pack(std::span<const std::byte> cache, uint32_t count, std::span<std::byte> packed) const;
  /// Rows [first, last).
  struct Range {
    uint32_t first = 0;
    uint32_t last = 0;
  };
  /// Writes rows `range` of `packed`, which holds `count` >= `range.last` rows, to the same rows of `cache`.
  void unpack(std::span<const std::byte> packed, uint32_t count, Range range, std::span<std::byte> cache) const;
  /// Copies the first `count` rows of one cache to another.
  void copy(std::span<const std::byte> from, uint32_t count, std::span<std::byte> to) const;
};

}  // namespace firn::engine
