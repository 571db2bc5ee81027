// The bytes of a memory that an access touches: rows at a fixed distance. Their overlaps decide which tasks must wait.
#pragma once

#include <cstdint>
#include <optional>

namespace firn::target {

/// Bytes [begin + i * stride, begin + i * stride + bytes) for i < rows; bytes <= stride. One row has stride 0.
struct Footprint {
  uint64_t begin = 0;
  uint64_t rows = 1;
  uint64_t stride = 0;
  uint64_t bytes = 0;

  uint64_t end() const { return begin + (rows - 1) * stride + bytes; }
};

/// `footprint` with rows that touch each other joined to one.
Footprint joinedRows(Footprint footprint);

/// How many bytes the two share; nothing where that is not known, with two different strides.
std::optional<uint64_t> commonBytes(const Footprint& a, const Footprint& b);

/// Whether the two share a byte. Where commonBytes does not know it is also true where rows only interleave.
bool overlap(const Footprint& a, const Footprint& b);

/// True only if every byte of `inner` is one of `outer`.
bool covers(const Footprint& outer, const Footprint& inner);

/// What is left of `old` when the bytes of `written` are taken away, never too little; no bytes if nothing is left.
/// Only single rows shrink, at their ends.
Footprint remainder(const Footprint& old, const Footprint& written);

}  // namespace firn::target
