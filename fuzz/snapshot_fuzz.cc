// Arbitrary bytes as a snapshot, as they are and with the hash made right: what verification lets pass is copied into a
// cache, which must not be left.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "blob/layout.h"
#include "engine/snapshot.h"
#include "fuzz/accepted.h"

namespace firn::engine {
namespace {

// The model of the seeds: one layer, two heads of width 4, T = 8.
constexpr KvLayout kLayout = {.heads = 4, .kvHeads = 2, .rows = 8, .rowBytes = 8, .scaleBytes = 0};
// The same with a cache of i8.
constexpr KvLayout kLayoutI8 = {.heads = 4, .kvHeads = 2, .rows = 8, .rowBytes = 4, .scaleBytes = 4};
constexpr SnapshotIdentity kIdentity = {.modelHash = {1, 2},
                                        .weightsHash = {3, 4},
                                        .programHash = {5, 6},
                                        .targets = uint32_t{1} << static_cast<uint32_t>(blob::Target::kCpu),
                                        .arithmeticId = 1,
                                        .lanes = 2,
                                        .layers = 1,
                                        .kvHeads = 2,
                                        .headDim = 4,
                                        .kvRows = 8,
                                        .kvType = static_cast<uint32_t>(DType::kF16),
                                        .vocab = 100,
                                        .reserved0 = 0};

void check(bool holds) {
  if (!holds) std::abort();
}

void useAs(std::span<const std::byte> file, const SnapshotIdentity& identity, const KvLayout& layout) {
  const Result<SnapshotView> view = parseSnapshot(file, identity, layout);
  if (!view.isOk()) return;
  ++fuzz::acceptedInputs;
  const auto tokens = static_cast<uint32_t>(view->ids.size());
  check(tokens <= layout.rows && view->exactTokens <= tokens);
  check(view->rows.size() == layout.packedBytes(tokens));
  for (const int32_t id : view->ids) check(id >= 0 && id < 100);
  std::vector<std::byte> cache(layout.packedBytes(layout.rows));
  layout.unpack(view->rows, tokens, {0, tokens}, cache);
  std::vector<std::byte> packed(view->rows.size());
  layout.pack(cache, tokens, packed);
  check(std::ranges::equal(packed, view->rows));
}

void use(std::span<const std::byte> file) {
  useAs(file, kIdentity, kLayout);
  SnapshotIdentity i8 = kIdentity;
  i8.kvType = static_cast<uint32_t>(DType::kI8);
  useAs(file, i8, kLayoutI8);
}

}  // namespace
}  // namespace firn::engine

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint64_t> aligned((size + 7) / 8);
  if (size > 0) std::memcpy(aligned.data(), data, size);
  const auto file = std::as_writable_bytes(std::span(aligned)).first(size);
  firn::engine::use(file);
  if (size < sizeof(firn::engine::SnapshotHeader)) return 0;
  firn::engine::sealSnapshot(file);
  firn::engine::use(file);
  return 0;
}
