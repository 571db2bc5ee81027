// Weights of the simple group formats as planes: codes that a matrix unit multiplies as they are, and the scales and
// mins of groups apart from them. Lossless: the bits of a source row lie elsewhere, none is lost and none is stored
// twice. Not here: panels, which the cpu target reads (panel.h), and formats with super-blocks, which have no such
// planes.
//
// A row of K weights has G = K / 32 groups.
//   codes   of 4 bits, K / 2 bytes: weight 2j in the low nibble of byte j, weight 2j + 1 in the high one; unsigned.
//           of 8 bits, K bytes, one a weight; signed (all that is stored so has zero = 0).
//   scales  G f16, the bits of the source.
//   mins    G f16, the bits of the source, where the format has them.
// Value of a weight: scale * (code - zero), + min where the format has mins; in f32, rounded after each operation, it
// has the bits of dequantizeRow (panel.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/dtype.h"
#include "blob/extent.h"

namespace firn::quant {

/// What the planes of a format hold.
struct GroupFormat {
  uint32_t bits = 8;     ///< of a code: 4 or 8
  uint32_t zero = 0;     ///< the code that is worth 0, before the min
  bool hasMins = false;  ///< each group has a min too
  uint32_t groupElements = blob::kPanelGroup;

  /// Of a row of whole groups.
  uint64_t codeBytes(uint64_t columns) const { return columns / groupElements * (groupElements * bits / 8); }
};

/// nullopt for types that are not stored as planes.
std::optional<GroupFormat> groupFormat(DType type);

/// Where the planes of a row go, each of its whole size; an empty one is not written.
struct SplitPlanes {
  std::span<std::byte> codes;
  std::span<std::byte> scales;
  std::span<std::byte> mins;
};

/// The planes of `columns` weights, whole groups, that begin at `row`, of a type that has a groupFormat. The bytes and
/// the sizes of the planes were checked by the caller.
void splitRow(DType type, std::span<const std::byte> row, uint64_t columns, const SplitPlanes& planes);

}  // namespace firn::quant
