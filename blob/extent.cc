#include "blob/extent.h"

#include "base/align.h"

namespace firn::blob {

namespace {

constexpr uint64_t kPlaneAlignment = 64;

/// What a panel of a type is made of; codeBits 0: none.
struct PanelPlan {
  uint32_t codeBits = 0;
  bool isQuantized = false;
  bool hasMins = false;
  bool hasSupers = false;
};

PanelPlan panelPlan(DType dtype) {
  switch (dtype) {
    case DType::kQ4_0: return {.codeBits = 4, .isQuantized = true};
    case DType::kQ4_1: return {.codeBits = 4, .isQuantized = true, .hasMins = true};
    case DType::kQ8_0: return {.codeBits = 8, .isQuantized = true};
    case DType::kQ5_0: return {.codeBits = 5, .isQuantized = true};
    case DType::kQ5_1: return {.codeBits = 5, .isQuantized = true, .hasMins = true};
    case DType::kQ4_K: return {.codeBits = 4, .isQuantized = true, .hasMins = true, .hasSupers = true};
    case DType::kQ5_K: return {.codeBits = 5, .isQuantized = true, .hasMins = true, .hasSupers = true};
    case DType::kQ6_K: return {.codeBits = 6, .isQuantized = true, .hasSupers = true};
    case DType::kF16:
    case DType::kBf16: return {.codeBits = 16};
    case DType::kF32: return {.codeBits = 32};
    default: return {};
  }
}

uint64_t alignPlane(uint64_t bytes) { return roundUp(bytes, kPlaneAlignment); }

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

std::optional<PanelShape> panelShape(DType dtype, uint64_t columns) {
  const PanelPlan plan = panelPlan(dtype);
  if (plan.codeBits == 0 || columns >> 32 != 0) return std::nullopt;
  PanelShape shape;
  const uint64_t codes = alignPlane(columns * kPanelRows * plan.codeBits / 8);
  if (!plan.isQuantized) {
    shape.panelBytes = codes;
    return shape;
  }
  if (columns % kPanelGroup != 0) return std::nullopt;
  if (columns == 0) return shape;
  const uint64_t groups = columns / kPanelGroup;
  // Of each group and row: an f16 scale, and an f16 min in a plane of its own; with super-blocks two bytes.
  const uint64_t halves = alignPlane(groups * kPanelRows * 2);
  shape.scalesOffset = codes;
  shape.panelBytes = codes + halves;
  if (plan.hasSupers) {
    // A line that says where the first group lies in its super-block of 8, then as many super-blocks as the groups can
    // touch wherever that is: an f16 for each row, and another where there are mins.
    shape.supersOffset = shape.panelBytes;
    const uint64_t supers = (groups + 14) / 8;
    shape.panelBytes += kPlaneAlignment + alignPlane(supers * kPanelRows * (plan.hasMins ? 4 : 2));
  } else if (plan.hasMins) {
    shape.minsOffset = shape.panelBytes;
    shape.panelBytes += halves;
  }
  return shape;
}

std::optional<uint64_t> panelBytes(DType dtype, uint64_t rows, uint64_t columns) {
  const std::optional<PanelShape> shape = panelShape(dtype, columns);
  if (!shape || rows >> 32 != 0) return std::nullopt;
  return checkedMultiply(shape->panelBytes, (rows + kPanelRows - 1) / kPanelRows);
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

std::optional<uint64_t> operandBytes(DType dtype, Layout layout, std::span<const uint32_t> dims,
                                     std::span<const uint32_t> strides) {
  switch (layout) {
    case Layout::kStrided: return stridedBytes(dtype, dims, strides);
    case Layout::kPanels:
      if (dims.size() != 2 || dims[0] == 0 || dims[1] == 0) return std::nullopt;
      return panelBytes(dtype, dims[0], dims[1]);
  }
  return std::nullopt;
}

std::optional<uint64_t> operandBytes(const OperandRecord& operand) {
  if (operand.rank > operand.dims.size()) return std::nullopt;
  return operandBytes(operand.dtype, operand.layout, std::span(operand.dims).first(operand.rank),
                      std::span(operand.strides).first(operand.rank));
}

}  // namespace firn::blob
