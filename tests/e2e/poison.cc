#include "tests/e2e/poison.h"

#include <cstring>
#include <span>

#include "base/dtype.h"
#include "engine/kv_rows.h"

namespace firn::e2e {
namespace {

template <typename T>
void fill(std::span<std::byte> bytes, T pattern) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) std::memcpy(bytes.data() + at, &pattern, sizeof(T));
}

}  // namespace

void poisonRows(engine::Session& session, const LayerRows& rows, const Poison& poison) {
  const blob::ProgramHeader& header = session.model().blob().header();
  const auto layout = engine::KvLayout::of(header);
  const uint32_t heads = 2 * header.kvHeads;
  const auto begin = static_cast<uint32_t>(rows.begin);
  const uint64_t count = rows.end - rows.begin;
  for (auto head = static_cast<uint32_t>(rows.layer) * heads; head < (rows.layer + 1) * heads; ++head) {
    const auto bytes = session.cache().subspan(layout.offset(head, begin), count * layout.rowBytes);
    if (header.kvType == DType::kF32) {
      fill(bytes, poison.single);
    } else if (header.kvType == DType::kF16) {
      fill(bytes, poison.half);
    } else {
      fill(bytes, uint8_t{0x80});  // a code that no row has
      fill(session.cache().subspan(layout.scaleOffset(head, begin), count * layout.scaleBytes), poison.single);
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
