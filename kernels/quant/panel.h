// Packed weights of the cpu target: panels of 16 output rows, K in groups of 32. Lossless.
//
// A matrix [N, K] is ceil(N/16) panels, one after the other, each panelBytes(type, K) long. Rows beyond N hold zeros.
// G = K / 32 (quantized types only have whole groups).
//
//   q4_0, q4_1   codes: G x 256 bytes, then scales: G x 16 f16, then (q4_1) mins: G x 16 f16; each plane padded to 64
//   bytes.
//                Group g's 256 bytes are 4 rows of 64: byte [j][4*r + b] (j 0..3, r row 0..15, b 0..3) holds weight
//                k = 32g + 4j + b of row r in its low nibble, and k + 16 in its high nibble; codes are unsigned 0..15.
//   q8_0         codes: G x 512 bytes (8 rows of 64: byte [j][4*r + b] is k = 32g + 4j + b), stored as q + 128
//   unsigned;
//                scales: G x 16 f16; each plane padded to 64 bytes.
//   f16, bf16, f32   K x 16 elements, k-major: element [k][r]; padded to 64 bytes.
//
// Value of a weight: q4_0 scale * (code - 8); q4_1 scale * code + min; q8_0 scale * (code - 128).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/dtype.h"
#include "base/status.h"

namespace firn::quant {

inline constexpr uint32_t kPanelRows = 16;
inline constexpr uint32_t kGroup = 32;

/// Where the planes of one panel lie, in bytes from its start. Unused planes have offset 0.
struct PanelShape {
  uint64_t scalesOffset = 0;
  uint64_t minsOffset = 0;
  uint64_t panelBytes = 0;
};

/// nullopt when `type` has no panels or K is no multiple of its block.
std::optional<PanelShape> panelShape(DType type, uint64_t columns);
/// Bytes of a packed [rows, columns] matrix; nullopt as above, or on overflow.
std::optional<uint64_t> packedBytes(DType type, uint64_t rows, uint64_t columns);

/// A rectangle of a source matrix in GGUF's row-major block layout.
struct PackSource {
  DType type;
  std::span<const std::byte> bytes;  ///< the whole matrix
  uint64_t columns = 0;              ///< K of the whole matrix
  uint64_t firstColumn = 0;          ///< multiple of 32 for quantized types
  uint64_t columnCount = 0;          ///< the same
};

/// Packs row `rowIndex(i)` of the source as row i, for i in 0..rows-1, into `out` (packedBytes(type, rows,
/// columnCount)). `rowOrder` holds the source row of each output row. internal when a size does not fit.
Status packPanels(const PackSource& source, std::span<const uint32_t> rowOrder, std::span<std::byte> out);

/// Row `row` of a packed matrix as fp32, exact. `out` has `columns` values.
void unpackPanelRow(DType type, std::span<const std::byte> packed, uint64_t row, uint64_t columns,
                    std::span<float> out);

/// `out.size()` weights of a row-major source row starting at `bytes`, as fp32, exact.
void dequantizeRow(DType type, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace firn::quant
