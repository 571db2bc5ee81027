// How many bytes a view of a tensor spans and where the planes of packed weights lie, computed without overflow: the
// one count that the verifier, the compiler and the kernels go by.
// Not here: what the bytes of a panel mean, how they are made (kernels/quant/panel.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/dtype.h"
#include "blob/layout.h"

namespace firn::blob {

inline constexpr uint32_t kPanelRows = 16;   ///< of a weight matrix, in one panel
inline constexpr uint32_t kPanelGroup = 32;  ///< columns of quantized types come in groups of this many

/// a + b and a * b, or nullopt when the result needs more than 64 bits.
std::optional<uint64_t> checkedAdd(uint64_t a, uint64_t b);
std::optional<uint64_t> checkedMultiply(uint64_t a, uint64_t b);

/// Where the planes of one panel lie, in bytes from its start. Unused planes have offset 0.
struct PanelShape {
  uint64_t scalesOffset = 0;  ///< f16 scales, or the scales and mins of groups
  uint64_t minsOffset = 0;
  uint64_t supersOffset = 0;
  uint64_t panelBytes = 0;
};

/// The planes of a panel of 16 rows and `columns` columns; nullopt when `dtype` has no panels, is quantized and
/// `columns` is no multiple of 32, or they are 2^32 or more.
std::optional<PanelShape> panelShape(DType dtype, uint64_t columns);
/// Bytes of a [rows, columns] matrix in panels, one behind the other; nullopt as above, for 2^32 rows, or on overflow.
std::optional<uint64_t> panelBytes(DType dtype, uint64_t rows, uint64_t columns);

/// Bytes from the first element to the end of the last one: sum((dims[i] - 1) * strides[i]) + 1 elements, for quantized
/// types in whole blocks. nullopt when a dim is 0, a row is no whole number of blocks, or the size overflows.
std::optional<uint64_t> stridedBytes(DType dtype, std::span<const uint32_t> dims, std::span<const uint32_t> strides);

/// The extent of an operand by its layout; nullopt as above, for a dim of 0, or for unknown numbers. Panels have no
/// strides; theirs are not looked at.
std::optional<uint64_t> operandBytes(DType dtype, Layout layout, std::span<const uint32_t> dims,
                                     std::span<const uint32_t> strides);
std::optional<uint64_t> operandBytes(const OperandRecord& operand);

}  // namespace firn::blob
