// How the matrix kernels see a panel of 16 output rows (kernels/quant/panel.h). Kernel text: included after a vector
// header.
#pragma once

#include "kernels/cpu/arithmetic.h"
#include "kernels/cpu/kernels.h"

namespace firn::cpu {
namespace {

/// What differs between the quantized formats. A code stands for scale * (code - 2^kOffsetShift), or, where
/// kOffsetShift is 0, for scale * code + min.
struct Q40 {
  static constexpr bool kNibbles = true;
  static constexpr bool kMins = false;
  static constexpr int kOffsetShift = 3;
};
struct Q41 {
  static constexpr bool kNibbles = true;
  static constexpr bool kMins = true;
  static constexpr int kOffsetShift = 0;
};
struct Q80 {
  static constexpr bool kNibbles = false;
  static constexpr bool kMins = false;
  static constexpr int kOffsetShift = 7;
};

constexpr size_t kRowsOf4 = 64;  ///< bytes of 16 rows of 4 codes

FIRN_INLINE size_t roundUp64(size_t bytes) { return (bytes + 63) / 64 * 64; }

/// A packed matrix of `Format`: where the planes of its panels lie. All sizes in bytes.
template <class Format>
struct QuantizedPanels {
  static constexpr size_t kGroupBytes = Format::kNibbles ? 4 * kRowsOf4 : 8 * kRowsOf4;
  static constexpr size_t kScaleBytes = kLanes * 2;

  const uint8_t* base;
  size_t scalesOffset;
  size_t minsOffset;
  size_t panelBytes;
  size_t groupShare;  ///< bytes of a panel per group, in whole cache lines

  FIRN_INLINE QuantizedPanels(const void* weight, size_t groups) : base(static_cast<const uint8_t*>(weight)) {
    scalesOffset = roundUp64(groups * kGroupBytes);
    minsOffset = scalesOffset + roundUp64(groups * kScaleBytes);
    panelBytes = Format::kMins ? minsOffset + roundUp64(groups * kScaleBytes) : minsOffset;
    groupShare = groups == 0 ? 0 : roundUp64((panelBytes + groups - 1) / groups);
  }
  FIRN_INLINE const uint8_t* codes(size_t panel, size_t group) const {
    return base + panel * panelBytes + group * kGroupBytes;
  }
  FIRN_INLINE F32 scales(size_t panel, size_t group) const {
    return half(base + panel * panelBytes + scalesOffset + group * kScaleBytes);
  }
  FIRN_INLINE F32 mins(size_t panel, size_t group) const {
    return half(base + panel * panelBytes + minsOffset + group * kScaleBytes);
  }
  /// Asks for a part of a panel that will be used later, `group` saying which. The planes of a panel are short streams,
  /// which the hardware finds too late: with this a matrix-vector product reads at 0.9 of the memory's speed, without
  /// at half of it. An address beyond the weights is harmless.
  FIRN_INLINE void prefetch(size_t panel, size_t group) const {
    const uintptr_t first = reinterpret_cast<uintptr_t>(base) + panel * panelBytes + group * groupShare;
    for (size_t line = 0; line < groupShare; line += 64)
      __builtin_prefetch(reinterpret_cast<const void*>(first + line));
  }

 private:
  FIRN_INLINE static F32 half(const uint8_t* p) { return loadF16(reinterpret_cast<const uint16_t*>(p)); }
};

/// Rows of panel `panel` that exist, 1 .. 16.
FIRN_INLINE size_t panelRows(size_t panel, size_t outputs) {
  const size_t left = outputs - panel * kLanes;
  return left < kLanes ? left : kLanes;
}

/// Adds the bias of a panel, if any, as the last operation on its outputs.
FIRN_INLINE F32 withBias(F32 acc, const float* bias, size_t panel, size_t count) {
  return bias == nullptr ? acc : add(acc, loadN(bias + panel * kLanes, count));
}

}  // namespace
}  // namespace firn::cpu
