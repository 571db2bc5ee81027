// Packed weights of the cpu target: panels of 16 output rows, K in groups of 32. Lossless.
//
// A matrix [N, K] is ceil(N/16) panels, one after the other, each panelBytes(type, K) long. Rows beyond N hold zeros.
// G = K / 32 (quantized types only have whole groups).
//
//   q4_0, q4_1   codes: G x 256 bytes, then scales: G x 16 f16, then (q4_1) mins: G x 16 f16; each plane padded to 64
//   bytes.
//                Group g's 256 bytes are 4 rows of 64: byte [j][4*r + b] (j 0..3, r row 0..15, b 0..3) holds weight
//                k = 32g + 4j + b of row r in its low nibble, and k + 16 in its high nibble; codes are unsigned 0..15.
//   q5_0, q5_1   as q4_0 and q4_1, but a group's codes are 320 bytes: the fifth bits follow in a row of 64, in which
//   bit
//                j (0..7) of byte [4*r + b] belongs to weight k = 32g + 4j + b of row r; codes are unsigned 0..31.
//   q4_k, q5_k, q6_k   codes: G x 256 bytes as q4_0, G x 320 as q5_0, or G x 384: the two high bits of q6_k follow in
//   two
//                rows of 64, in which bits 2i and 2i + 1 of byte [h][4*r + b] (h 0..1, i 0..3) belong to weight
//                k = 32g + 16h + 4i + b of row r; codes are unsigned 0..63.
//                Then group scales: G x 32 bytes, first that of each of the 16 rows, then (q4_k, q5_k) their mins; q6_k
//                has two signed scales, that of the first 16 weights of each row, then that of the last 16.
//                Then supers: a line of 64 bytes with a u32, the place p of the first group in its super-block of 8;
//                then S = (G + 14) / 8 times 16 f16 scales d and (q4_k, q5_k) 16 f16 mins dmin. Group g belongs to
//                super-block (g + p) / 8, since a panel may hold a part of a row that starts at any group.
//   q8_0         codes: G x 512 bytes (8 rows of 64: byte [j][4*r + b] is k = 32g + 4j + b), stored as q + 128
//   unsigned;
//                scales: G x 16 f16; each plane padded to 64 bytes.
//   f16, bf16, f32   K x 16 elements, k-major: element [k][r]; padded to 64 bytes.
//
// Value of a weight: q4_0 scale * (code - 8); q5_0 scale * (code - 16); q4_1, q5_1 scale * code + min; q8_0 scale *
// (code - 128); q4_k, q5_k (d * scale) * code - dmin * min; q6_k (d * scale) * (code - 32).
#pragma once

#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/status.h"
#include "blob/extent.h"

namespace firn::quant {

using blob::kPanelRows;
inline constexpr uint32_t kGroup = blob::kPanelGroup;

using blob::panelBytes;
using blob::PanelShape;
using blob::panelShape;

/// A rectangle of a source matrix in GGUF's row-major block layout.
struct PackSource {
  DType type;
  std::span<const std::byte> bytes;  ///< the whole matrix
  uint64_t columns = 0;              ///< K of the whole matrix
  uint64_t firstColumn = 0;          ///< multiple of 32 for quantized types
  uint64_t columnCount = 0;          ///< the same
};

/// Packs row `rowIndex(i)` of the source as row i, for i in 0..rows-1, into `out` (panelBytes(type, rows,
/// columnCount)). `rowOrder` holds the source row of each output row. internal when a size does not fit.
Status packPanels(const PackSource& source, std::span<const uint32_t> rowOrder, std::span<std::byte> out);

/// Row `row` of a packed matrix as fp32, exact. `out` has `columns` values.
void unpackPanelRow(DType type, std::span<const std::byte> packed, uint64_t row, uint64_t columns,
                    std::span<float> out);

/// `out.size()` weights of a row-major source row starting at `bytes`, as fp32, exact.
void dequantizeRow(DType type, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace firn::quant
