#include "engine/kv_rows.h"

#include <cstring>

namespace firn::engine {

KvLayout KvLayout::of(const blob::ProgramHeader& header) {
  KvLayout layout;
  layout.heads = header.layers * 2 * header.kvHeads;
  layout.rows = header.kvRows;
  // The verifier holds kvBytes against all of these.
  const uint64_t count = uint64_t{layout.heads} * layout.rows;
  layout.rowBytes = count == 0 ? 0 : header.kvBytes / count;
  return layout;
}

void KvLayout::pack(std::span<const std::byte> cache, uint32_t count, std::span<std::byte> packed) const {
  const uint64_t bytes = count * rowBytes;
  if (bytes == 0) return;  // no rows may come with no memory, which memcpy must not be given
  for (uint32_t head = 0; head < heads; ++head) {
    std::memcpy(packed.data() + head * bytes, cache.data() + offset(head, 0), bytes);
  }
}

void KvLayout::unpack(std::span<const std::byte> packed, uint32_t count, Range range,
                      std::span<std::byte> cache) const {
  if ((range.last - range.first) * rowBytes == 0) return;
  for (uint32_t head = 0; head < heads; ++head) {
    std::memcpy(cache.data() + offset(head, range.first),
                packed.data() + (uint64_t{head} * count + range.first) * rowBytes,
                (range.last - range.first) * rowBytes);
  }
}

void KvLayout::copy(std::span<const std::byte> from, uint32_t count, std::span<std::byte> to) const {
  if (count * rowBytes == 0) return;
  for (uint32_t head = 0; head < heads; ++head) {
    std::memcpy(to.data() + offset(head, 0), from.data() + offset(head, 0), count * rowBytes);
  }
}

}  // namespace firn::engine
