// How a KV cache lies in memory: 2 x layers parts, [layer][K, V]. A part is the rows [kvHead][T][headDim] in the KV
// type and, where that is i8, behind them one scale for each row, f32 [kvHead][T]; a value is scale * code. T is a
// multiple of 64, so rows, scales and parts of every type start at multiples of 64 bytes. Not here: who writes and
// reads rows (docs/arithmetic.md), copies of them (engine/kv_rows.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "blob/layout.h"

namespace firn::blob {

/// f16, i8 or f32.
bool isKvType(DType type);
/// "f16, i8, f32".
std::string kvTypeNames();
/// The one of that name; nullopt for any other text.
std::optional<DType> kvTypeFromName(std::string_view name);

/// The K or the V of one layer.
struct KvPart {
  uint64_t rowsBytes = 0;
  uint64_t scalesBytes = 0;  ///< 0: the type has none

  uint64_t bytes() const { return rowsBytes + scalesBytes; }

  /// nullopt when `type` is no KV type or the size overflows.
  static std::optional<KvPart> of(DType type, uint64_t kvHeads, uint64_t kvRows, uint64_t headDim);
  static std::optional<KvPart> of(const ProgramHeader& header) {
    return of(header.kvType, header.kvHeads, header.kvRows, header.headDim);
  }
};

}  // namespace firn::blob
