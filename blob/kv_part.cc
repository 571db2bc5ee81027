#include "blob/kv_part.h"

#include "blob/extent.h"

namespace firn::blob {

bool isKvType(DType type) { return type == DType::kF16 || type == DType::kI8 || type == DType::kF32; }

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
