#include "tests/e2e/poison.h"

#include <cstring>
#include <span>

#include "base/dtype.h"

namespace firn::e2e {
namespace {

template <typename T>
void fill(std::span<std::byte> bytes, T pattern) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) std::memcpy(bytes.data() + at, &pattern, sizeof(T));
}

}  // namespace

void poisonFreeRows(engine::Session& session, const Poison& poison) {
  const blob::ProgramHeader& header = session.model().blob().header();
  const uint64_t rowBytes = session.cache().size() / (uint64_t{header.layers} * 2 * header.kvHeads * header.kvRows);
  const bool isHalf = header.kvType == DType::kF16;
  for (uint64_t head = 0; head < uint64_t{header.layers} * 2 * header.kvHeads; ++head) {
    const uint64_t first = (head * header.kvRows + session.position()) * rowBytes;
    const auto rows = session.cache().subspan(first, (header.kvRows - session.position()) * rowBytes);
    if (isHalf) {
      fill(rows, poison.half);
    } else {
      fill(rows, poison.single);
    }
  }
}

}  // namespace firn::e2e
