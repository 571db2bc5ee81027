// Packed weights of the cpu target: panels of 16 output rows, K in groups of 32. Lossless.
//
// A matrix [N, K] is ceil(N/16) panels, one after the other, each panelBytes(type, K) long. Rows beyond N hold zeros.
// G = K / 32 (quantized types only have whole groups).
//
// A panel is a few planes, one after the other, each padded to 64 bytes. In a plane of codes each group has lines of 64
// bytes: 4 bytes of each of the 16 rows. Below, byte [j][4*r + b] is byte b (0..3) of row r (0..15) in line j.
//
//   q4_0, q4_1
//     codes, G x 256 bytes: byte [j][4*r + b] of group g (j 0..3) holds weight k = 32g + 4j + b of row r in its low
//     nibble, and weight k + 16 in its high nibble; unsigned, 0..15.
//     scales, G x 16 f16; then (q4_1) mins, G x 16 f16.
//   q5_0, q5_1
//     codes, G x 320 bytes: as above, then a line of fifth bits: bit j (0..7) of byte [4*r + b] belongs to weight
//     k = 32g + 4j + b of row r; unsigned, 0..31.
//     scales and (q5_1) mins as above.
//   q8_0
//     codes, G x 512 bytes: byte [j][4*r + b] (j 0..7) is weight k = 32g + 4j + b of row r, plus 128: unsigned.
//     scales as above.
//   q4_k, q5_k, q6_k
//     codes, G x 256 bytes as q4_0, G x 320 as q5_0, or G x 384: as q4_0, then two lines of high bits: bits 2i and
//     2i + 1 of byte [h][4*r + b] (h 0..1, i 0..3) belong to weight k = 32g + 16h + 4i + b of row r; unsigned, 0..63.
//     group scales, G x 32 bytes: one of each of the 16 rows, then (q4_k, q5_k) their mins. q6_k has two signed
//     scales: those of the first 16 weights of each row, then those of the last 16.
//     supers: a line of 64 bytes with a u32, the place p of the first group in its super-block of 8; then
//     S = (G + 14) / 8 times 16 f16 scales d and (q4_k, q5_k) 16 f16 mins dmin. Group g belongs to super-block
//     (g + p) / 8, since a panel may hold a part of a row that starts at any group.
//   f16, bf16, f32
//     elements, K x 16, k-major: element [k][r].
//
// Value of a weight:
//   q4_0         scale * (code - 8)
//   q5_0         scale * (code - 16)
//   q4_1, q5_1   scale * code + min
//   q8_0         scale * (code - 128)
//   q4_k, q5_k   (d * scale) * code - dmin * min
//   q6_k         (d * scale) * (code - 32)
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

/// Packs row `rowOrder[i]` of the source as row i, into `out` of panelBytes(type, rowOrder.size(), columnCount) bytes.
/// internal when a size does not fit.
Status packPanels(const PackSource& source, std::span<const uint32_t> rowOrder, std::span<std::byte> out);

/// Row `row` of a packed matrix as fp32, exact. `out` has `columns` values.
void unpackPanelRow(DType type, std::span<const std::byte> packed, uint64_t row, uint64_t columns,
                    std::span<float> out);

/// `out.size()` weights of a row-major source row starting at `bytes`, as fp32, exact.
void dequantizeRow(DType type, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace firn::quant
