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

void poisonRows(engine::Session& session, const LayerRows& rows, const Poison& poison) {
  const blob::ProgramHeader& header = session.model().blob().header();
  const uint64_t heads = uint64_t{2} * header.kvHeads;
  const uint64_t rowBytes = session.cache().size() / (header.layers * heads * header.kvRows);
  for (uint64_t head = rows.layer * heads; head < (rows.layer + 1) * heads; ++head) {
    const uint64_t first = (head * header.kvRows + rows.begin) * rowBytes;
    const auto bytes = session.cache().subspan(first, (rows.end - rows.begin) * rowBytes);
    if (header.kvType == DType::kF16) {
      fill(bytes, poison.half);
    } else {
      fill(bytes, poison.single);
    }
  }
}

void poisonFreeRows(engine::Session& session, const Poison& poison) {
  const blob::ProgramHeader& header = session.model().blob().header();
  for (uint64_t layer = 0; layer < header.layers; ++layer) {
    poisonRows(session, {layer, session.position(), header.kvRows}, poison);
  }
}

}  // namespace firn::e2e
