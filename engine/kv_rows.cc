#include "engine/kv_rows.h"

#include <cstring>

#include "blob/kv_part.h"

namespace firn::engine {
namespace {

/// A cache, packed or not, and its bytes.
template <typename Byte>
struct Cache {
  const KvLayout& layout;
  std::span<Byte> bytes;
};

void copyRows(const Cache<const std::byte>& from, const Cache<std::byte>& to, KvLayout::Range range) {
  const uint64_t count = range.last - range.first;
  if (count == 0) return;  // no rows may come with no memory, which memcpy must not be given
  for (uint32_t head = 0; head < from.layout.heads; ++head) {
    std::memcpy(to.bytes.data() + to.layout.offset(head, range.first),
                from.bytes.data() + from.layout.offset(head, range.first), count * from.layout.rowBytes);
    if (from.layout.scaleBytes == 0) continue;
    std::memcpy(to.bytes.data() + to.layout.scaleOffset(head, range.first),
                from.bytes.data() + from.layout.scaleOffset(head, range.first), count * from.layout.scaleBytes);
  }
}

}  // namespace

KvLayout KvLayout::of(const blob::ProgramHeader& header) {
  KvLayout layout;
  layout.heads = header.layers * 2 * header.kvHeads;
  layout.kvHeads = header.kvHeads;
  layout.rows = header.kvRows;
  const blob::KvPart part = blob::KvPart::of(header).value_or(blob::KvPart{});  // a verified header has one
  const uint64_t count = uint64_t{header.kvHeads} * header.kvRows;
  layout.rowBytes = part.rowsBytes / count;
  layout.scaleBytes = part.scalesBytes / count;
  return layout;
}

void KvLayout::pack(std::span<const std::byte> cache, uint32_t count, std::span<std::byte> packed) const {
  copyRows({*this, cache}, {withRows(count), packed}, {0, count});
}

void KvLayout::unpack(std::span<const std::byte> packed, uint32_t count, Range range,
                      std::span<std::byte> cache) const {
  copyRows({withRows(count), packed}, {*this, cache}, range);
}

void KvLayout::copy(std::span<const std::byte> from, Range range, std::span<std::byte> to) const {
  copyRows({*this, from}, {*this, to}, range);
}

void KvLayout::move(std::span<std::byte> cache, uint32_t head, uint32_t from, uint32_t to, uint32_t count) const {
  std::memmove(cache.data() + offset(head, to), cache.data() + offset(head, from), count * rowBytes);
  if (scaleBytes == 0) return;
  std::memmove(cache.data() + scaleOffset(head, to), cache.data() + scaleOffset(head, from), count * scaleBytes);
}

}  // namespace firn::engine
