#include "blob/extent.h"

#include "base/align.h"

namespace firn::blob {

namespace {

constexpr uint64_t kPlaneAlignment = 64;

/// Weights of quantized types come in groups of this many; a panel holds whole groups, not always whole blocks.
constexpr uint64_t kGroup = 32;

/// The plane of super-blocks that `groups` groups can touch, wherever the first lies in its super-block of 8: a line
/// that says where, then `halves` f16 for each row and super-block.
uint64_t superPlane(uint64_t groups, uint64_t halves) {
  return kPlaneAlignment + roundUp((groups + 14) / 8 * kPanelRows * halves * 2, kPlaneAlignment);
}

/// Bytes of one panel of `columns` < 2^32 columns; 0 when the type has none.
uint64_t onePanelBytes(DType dtype, uint64_t columns) {
  const uint64_t groups = columns / kGroup;
  const uint64_t halfPlane = roundUp(groups * kPanelRows * 2, kPlaneAlignment);
  switch (dtype) {
    case DType::kQ4_0: return groups * 256 + halfPlane;
    case DType::kQ4_1: return groups * 256 + 2 * halfPlane;
    case DType::kQ8_0: return groups * 512 + halfPlane;
    case DType::kQ5_0: return groups * 320 + halfPlane;
    case DType::kQ5_1: return groups * 320 + 2 * halfPlane;
    // The two bytes of each group and row take the place of an f16.
    case DType::kQ4_K: return groups * 256 + halfPlane + superPlane(groups, 2);
    case DType::kQ5_K: return groups * 320 + halfPlane + superPlane(groups, 2);
    case DType::kQ6_K: return groups * 384 + halfPlane + superPlane(groups, 1);
    case DType::kF16:
    case DType::kBf16: return roundUp(columns * kPanelRows * 2, kPlaneAlignment);
    case DType::kF32: return roundUp(columns * kPanelRows * 4, kPlaneAlignment);
    default: return 0;
  }
}

}  // namespace

std::optional<uint64_t> checkedAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

std::optional<uint64_t> checkedMultiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

std::optional<uint64_t> panelBytes(DType dtype, uint64_t rows, uint64_t columns) {
  const DTypeInfo* info = dtypeInfo(dtype);
  if (info == nullptr || columns == 0 || columns >> 32 != 0 || rows >> 32 != 0) return std::nullopt;
  if (info->isQuantized && columns % kGroup != 0) return std::nullopt;
  const uint64_t panel = onePanelBytes(dtype, columns);
  if (panel == 0) return std::nullopt;
  return checkedMultiply(panel, (rows + kPanelRows - 1) / kPanelRows);
}

std::optional<uint64_t> stridedBytes(DType dtype, std::span<const uint32_t> dims, std::span<const uint32_t> strides) {
  const DTypeInfo* info = dtypeInfo(dtype);
  if (info == nullptr || dims.size() != strides.size()) return std::nullopt;
  uint64_t elements = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return std::nullopt;
    // Below 2^64: (2^32 - 2) * (2^32 - 1); only the sum can overflow.
    const auto sum = checkedAdd(elements, static_cast<uint64_t>(dims[i] - 1) * strides[i]);
    if (!sum) return std::nullopt;
    elements = *sum;
  }
  if (info->isQuantized) {
    for (size_t i = 0; i + 1 < dims.size(); ++i) {
      if (strides[i] % info->blockElements != 0) return std::nullopt;
    }
    if (elements % info->blockElements != 0) return std::nullopt;
  }
  return checkedMultiply(elements / info->blockElements, info->blockBytes);
}

std::optional<uint64_t> operandBytes(const OperandRecord& operand) {
  if (operand.rank > operand.dims.size()) return std::nullopt;
  switch (operand.layout) {
    case Layout::kStrided:
      return stridedBytes(operand.dtype, std::span(operand.dims).first(operand.rank),
                          std::span(operand.strides).first(operand.rank));
    case Layout::kPanels:
      if (operand.rank != 2) return std::nullopt;
      return panelBytes(operand.dtype, operand.dims[0], operand.dims[1]);
  }
  return std::nullopt;
}

}  // namespace firn::blob
