// Which bytes of the weight section entries read: each byte counts once, however many tasks copy it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "blob/reader.h"

namespace firn::engine {

/// Whether tasks of `op`, a TaskOp, name a whole table of weights and read a row of it for each token.
bool readsRowsOfATable(uint16_t op);

/// Of one blob. One thread.
class WeightExtents {
 public:
  /// `blob` must outlive it.
  explicit WeightExtents(const blob::Blob& blob);

  /// Bytes that the tasks of `entries` (of blob.entries(), first parts, with all their parts) name as weights, tables
  /// aside of which a task reads a row for each token. Time and memory grow with the weight operands of their calls.
  uint64_t bytesOf(std::span<const uint32_t> entries);

 private:
  /// Bytes [first, end) behind the base that a call gives; base kNoBase: of the section.
  struct Extent {
    uint16_t base = 0;
    uint64_t first = 0;
    uint64_t end = 0;
  };
  const std::vector<Extent>& extentsOf(uint32_t body);

  const blob::Blob* blob_;
  std::vector<std::vector<Extent>> bodies_;  ///< merged, by body
  std::vector<bool> isKnown_;
};

}  // namespace firn::engine
