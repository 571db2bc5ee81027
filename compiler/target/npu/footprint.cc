#include "compiler/target/npu/footprint.h"

#include <algorithm>
#include <utility>

namespace firn::target {
namespace {

/// How many bytes of `rows` lie below `address`.
uint64_t bytesBelow(const Footprint& rows, uint64_t address) {
  if (address <= rows.begin) return 0;
  if (address >= rows.end()) return rows.rows * rows.bytes;
  if (rows.rows == 1) return address - rows.begin;
  const uint64_t whole = (address - rows.begin) / rows.stride;
  return whole * rows.bytes + std::min((address - rows.begin) % rows.stride, rows.bytes);
}

/// Both have the same stride. With b.begin = a.begin + rowsApart * stride + shift, row j of b begins `shift` bytes into
/// row j + rowsApart of a, and may reach into the row after that.
uint64_t commonOfRows(Footprint a, Footprint b) {
  if (a.begin > b.begin) std::swap(a, b);
  const uint64_t rowsApart = (b.begin - a.begin) / a.stride;
  const uint64_t shift = (b.begin - a.begin) % a.stride;
  uint64_t common = 0;
  if (shift < a.bytes && rowsApart < a.rows) {
    common += std::min(a.bytes - shift, b.bytes) * std::min(a.rows - rowsApart, b.rows);
  }
  if (shift + b.bytes > a.stride && rowsApart + 1 < a.rows) {
    common += std::min(shift + b.bytes - a.stride, a.bytes) * std::min(a.rows - rowsApart - 1, b.rows);
  }
  return common;
}

}  // namespace

Footprint joinedRows(Footprint footprint) {
  if (footprint.rows == 1) footprint.stride = 0;
  if (footprint.rows > 1 && footprint.bytes == footprint.stride) {
    return {.begin = footprint.begin, .rows = 1, .stride = 0, .bytes = footprint.rows * footprint.bytes};
  }
  return footprint;
}

std::optional<uint64_t> commonBytes(const Footprint& a, const Footprint& b) {
  if (a.begin >= b.end() || b.begin >= a.end()) return 0;
  if (a.rows == 1) return bytesBelow(b, a.end()) - bytesBelow(b, a.begin);
  if (b.rows == 1) return bytesBelow(a, b.end()) - bytesBelow(a, b.begin);
  if (a.stride != b.stride) return std::nullopt;
  return commonOfRows(a, b);
}

bool overlap(const Footprint& a, const Footprint& b) { return commonBytes(a, b).value_or(1) > 0; }

bool covers(const Footprint& outer, const Footprint& inner) {
  if (inner.begin < outer.begin || inner.end() > outer.end()) return false;
  if (outer.rows == 1) return true;
  if (inner.rows > 1 && inner.stride != outer.stride) return false;
  return (inner.begin - outer.begin) % outer.stride + inner.bytes <= outer.bytes;
}

Footprint remainder(const Footprint& old, const Footprint& written) {
  if (covers(written, old)) return {.begin = old.begin, .rows = 1, .stride = 0, .bytes = 0};
  Footprint rest = old;
  if (old.rows > 1 || written.rows > 1) return rest;
  if (written.begin <= old.begin && written.end() > old.begin) {
    rest.begin = written.end();
    rest.bytes = old.end() - rest.begin;
  } else if (written.end() >= old.end() && written.begin < old.end()) {
    rest.bytes = written.begin - old.begin;
  }
  return rest;
}

}  // namespace firn::target
