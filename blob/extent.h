// How many bytes a view of a tensor spans, computed without overflow: what the verifier
// holds operands to. It counts panels for itself; kernels/test/quant_test.cc holds both counts together.
// Not here: how panels are filled (kernels/quant/panel.h describes and packs them).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/dtype.h"
#include "blob/layout.h"

namespace firn::blob {

inline constexpr uint32_t kPanelRows = 16;

/// a + b and a * b, or nullopt when the result needs more than 64 bits.
std::optional<uint64_t> checkedAdd(uint64_t a, uint64_t b);
std::optional<uint64_t> checkedMultiply(uint64_t a, uint64_t b);

/// Bytes of a [rows, columns] matrix packed in panels of 16 rows (kernels/quant/panel.h); nullopt when `dtype` has no
/// panels, is quantized and `columns` is no multiple of 32, or the size overflows.
std::optional<uint64_t> panelBytes(DType dtype, uint64_t rows, uint64_t columns);

/// Bytes from the first element to the end of the last one: sum((dims[i] - 1) * strides[i]) + 1 elements, for quantized
/// types in whole blocks. nullopt when a dim is 0, a row is no whole number of blocks, or the size overflows.
std::optional<uint64_t> stridedBytes(DType dtype, std::span<const uint32_t> dims, std::span<const uint32_t> strides);

/// The extent of an operand by its layout; nullopt as above or for unknown numbers.
std::optional<uint64_t> operandBytes(const OperandRecord& operand);

}  // namespace firn::blob
