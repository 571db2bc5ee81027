// Where the rows of a KV cache lie, and copies of them: between a cache and a packed form that holds nothing but valid
// rows. Not here: what the rows mean (session.h), files (snapshot.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blob/layout.h"

namespace firn::engine {

/// A cache has a part for K and one for V of each layer: [kvHeads][T] rows and, where the KV type has them,
/// [kvHeads][T] scales behind (blob/kv_part.h). Heads are counted over all parts. Packed rows are a cache of n rows
/// instead of T.
struct KvLayout {
  uint32_t heads = 0;       ///< layers * 2 * kvHeads
  uint32_t kvHeads = 0;     ///< of one part
  uint32_t rows = 0;        ///< T
  uint64_t rowBytes = 0;    ///< headDim elements
  uint64_t scaleBytes = 0;  ///< of a row; 0: the type has no scales

  static KvLayout of(const blob::ProgramHeader& header);

  /// Bytes of one row of one head with its scale.
  uint64_t packedRowBytes() const { return rowBytes + scaleBytes; }
  /// Bytes of the first `count` rows of every head.
  uint64_t packedBytes(uint32_t count) const { return uint64_t{heads} * count * packedRowBytes(); }
  /// Byte offsets of row `row` of head `head` in a cache, and of its scale.
  uint64_t offset(uint32_t head, uint32_t row) const {
    return partOffset(head) + (uint64_t{head % kvHeads} * rows + row) * rowBytes;
  }
  uint64_t scaleOffset(uint32_t head, uint32_t row) const {
    return partOffset(head) + uint64_t{kvHeads} * rows * rowBytes +
           (uint64_t{head % kvHeads} * rows + row) * scaleBytes;
  }

  /// Packs the first `count` rows of `cache` into `packed`, which has packedBytes(count) bytes.
  void pack(std::span<const std::byte> cache, uint32_t count, std::span<std::byte> packed) const;
  /// Rows [first, last).
  struct Range {
    uint32_t first = 0;
    uint32_t last = 0;
  };
  /// Writes rows `range` of `packed`, which holds `count` >= `range.last` rows, to the same rows of `cache`.
  void unpack(std::span<const std::byte> packed, uint32_t count, Range range, std::span<std::byte> cache) const;
  /// Copies rows `range` of one cache to another.
  void copy(std::span<const std::byte> from, Range range, std::span<std::byte> to) const;
  /// Moves `count` rows of a head within one cache: row from + i to row to + i.
  void move(std::span<std::byte> cache, uint32_t head, uint32_t from, uint32_t to, uint32_t count) const;

  /// The same cache with another number of rows.
  KvLayout withRows(uint32_t count) const {
    KvLayout layout = *this;
    layout.rows = count;
    return layout;
  }

 private:
  uint64_t partOffset(uint32_t head) const {
    return uint64_t{head / kvHeads} * kvHeads * rows * (rowBytes + scaleBytes);
  }
};

}  // namespace firn::engine
