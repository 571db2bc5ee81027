#include "blob/kv_part.h"

#include <algorithm>
#include <array>

#include "base/joined.h"
#include "blob/extent.h"

namespace firn::blob {

namespace {

constexpr std::array<DType, 3> kKvTypes = {DType::kF16, DType::kI8, DType::kF32};

}  // namespace

bool isKvType(DType type) { return std::ranges::find(kKvTypes, type) != kKvTypes.end(); }

std::string kvTypeNames() {
  return joined(kKvTypes, ", ", [](DType type) { return dtypeInfo(type)->name; });
}

std::optional<DType> kvTypeFromName(std::string_view name) {
  for (const DType type : kKvTypes) {
    if (dtypeInfo(type)->name == name) return type;
  }
  return std::nullopt;
}

std::optional<KvPart> KvPart::of(DType type, uint64_t kvHeads, uint64_t kvRows, uint64_t headDim) {
  if (!isKvType(type)) return std::nullopt;
  const auto rows = checkedMultiply(kvHeads, kvRows);
  const auto elements = rows ? checkedMultiply(*rows, headDim) : std::nullopt;
  const auto rowsBytes = elements ? dtypeBytes(type, *elements) : std::nullopt;
  const auto scalesBytes = rows ? checkedMultiply(*rows, type == DType::kI8 ? sizeof(float) : 0) : std::nullopt;
  if (!rowsBytes || !scalesBytes || !checkedAdd(*rowsBytes, *scalesBytes)) return std::nullopt;
  return KvPart{.rowsBytes = *rowsBytes, .scalesBytes = *scalesBytes};
}

}  // namespace firn::blob
