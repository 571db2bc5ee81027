// Panels of unquantized weights: K x 16 elements, k-major, so that 16 outputs read one contiguous row per k.
// The element type is only bits here; each format says how they become a float.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/quant/format.h"
#include "kernels/quant/group_planes.h"

namespace firn::quant {

/// The PanelFormat functions for elements of `kType` stored as `Bits`, each worth `toFloat(bits)`.
template <DType kType, typename Bits, float (*toFloat)(Bits)>
struct FloatPanels {
  static void dequantize(const std::byte* source, std::span<float> out) {
    for (uint64_t k = 0; k < out.size(); ++k) out[k] = toFloat(loadAs<Bits>(source + k * sizeof(Bits)));
  }

  static void pack(const PanelRows& rows, uint64_t columns, std::byte* panel) {
    const uint64_t used = columns * kPanelRows * sizeof(Bits);
    std::memset(panel + used, 0, planesOf(kType, columns).panelBytes - used);
    // Tiles of 32 columns: the 16 lines read and the 32 rows written stay in L1.
    for (uint64_t first = 0; first < columns; first += kGroup) {
      const uint64_t end = std::min<uint64_t>(first + kGroup, columns);
      for (uint32_t r = 0; r < kPanelRows; ++r) {
        for (uint64_t k = first; k < end; ++k) {
          const Bits bits = rows[r] == nullptr ? Bits{0} : loadAs<Bits>(rows[r] + k * sizeof(Bits));
          storeAs(panel + (k * kPanelRows + r) * sizeof(Bits), bits);
        }
      }
    }
  }

  static void unpackRow(const std::byte* panel, uint32_t row, std::span<float> out) {
    for (uint64_t k = 0; k < out.size(); ++k) {
      out[k] = toFloat(loadAs<Bits>(panel + (k * kPanelRows + row) * sizeof(Bits)));
    }
  }

  static constexpr PanelFormat format() {
    return {.type = kType, .dequantize = dequantize, .pack = pack, .unpackRow = unpackRow};
  }
};

}  // namespace firn::quant
