// How the matrix kernels see a panel of 16 output rows (kernels/quant/panel.h). Kernel text: included after a vector
// header.
#pragma once

#include "kernels/cpu/arithmetic.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/panel_planes.h"

namespace firn::cpu {
namespace {

/// What differs between the quantized formats. A code of kCodeBits bits stands for scale * (code - 2^kOffsetShift), or,
/// where kOffsetShift is 0, for scale * code + min. A format with `super` scales multiplies those of a group by those
/// of its super-block; kParts are the parts of a group, of 32 / kParts weights, that have a scale each.
struct Q40 {
  static constexpr DType kType = DType::kQ4_0;
  static constexpr int kCodeBits = 4, kOffsetShift = 3, kParts = 1;
  static constexpr bool kMins = false, kSuper = false;
};
struct Q41 {
  static constexpr DType kType = DType::kQ4_1;
  static constexpr int kCodeBits = 4, kOffsetShift = 0, kParts = 1;
  static constexpr bool kMins = true, kSuper = false;
};
struct Q50 {
  static constexpr DType kType = DType::kQ5_0;
  static constexpr int kCodeBits = 5, kOffsetShift = 4, kParts = 1;
  static constexpr bool kMins = false, kSuper = false;
};
struct Q51 {
  static constexpr DType kType = DType::kQ5_1;
  static constexpr int kCodeBits = 5, kOffsetShift = 0, kParts = 1;
  static constexpr bool kMins = true, kSuper = false;
};
struct Q80 {
  static constexpr DType kType = DType::kQ8_0;
  static constexpr int kCodeBits = 8, kOffsetShift = 7, kParts = 1;
  static constexpr bool kMins = false, kSuper = false;
};
struct Q4K {
  static constexpr DType kType = DType::kQ4_K;
  static constexpr int kCodeBits = 4, kOffsetShift = 0, kParts = 1;
  static constexpr bool kMins = true, kSuper = true;
};
struct Q5K {
  static constexpr DType kType = DType::kQ5_K;
  static constexpr int kCodeBits = 5, kOffsetShift = 0, kParts = 1;
  static constexpr bool kMins = true, kSuper = true;
};
struct Q6K {
  static constexpr DType kType = DType::kQ6_K;
  static constexpr int kCodeBits = 6, kOffsetShift = 5, kParts = 2;
  static constexpr bool kMins = false, kSuper = true;
};

constexpr size_t kRowsOf4 = 64;  ///< bytes of 16 rows of 4 codes

FIRN_INLINE size_t roundUp64(size_t bytes) { return (bytes + 63) / 64 * 64; }

/// The planes of one panel of `Format`.
template <class Format>
struct QuantizedPanel {
  static constexpr size_t kGroupBytes = Format::kCodeBits * kRowsOf4;
  /// Of a group: 16 f16, or with super-blocks 2 x 16 bytes.
  static constexpr size_t kScaleBytes = kLanes * 2;
  static constexpr size_t kSuperBytes = (Format::kMins ? 2 : 1) * kLanes * 2;

  const uint8_t* codePlane;
  const uint8_t* scalePlane;
  const uint8_t* minPlane;  ///< f16 mins, or the super-blocks
  size_t firstGroup;        ///< place of group 0 in its super-block

  FIRN_INLINE const uint8_t* codes(size_t group) const { return codePlane + group * kGroupBytes; }
  FIRN_INLINE F32 scales(size_t group, int part) const {
    const uint8_t* p = scalePlane + group * kScaleBytes;
    if constexpr (!Format::kSuper) return half(p);
    const F32 d = half(super(group));
    // Exact: 11 and at most 7 bits.
    return Format::kMins ? mul(d, loadU8(p)) : mul(d, loadI8(p + part * kLanes));
  }
  FIRN_INLINE F32 mins(size_t group) const {
    if constexpr (!Format::kMins) return splat(0);
    if constexpr (!Format::kSuper) return half(minPlane + group * kScaleBytes);
    const F32 dmin = half(super(group) + kLanes * 2);
    return negate(mul(dmin, loadU8(scalePlane + group * kScaleBytes + kLanes)));
  }

 private:
  FIRN_INLINE const uint8_t* super(size_t group) const {
    return minPlane + (firstGroup + group) / kSuperGroups * kSuperBytes;
  }
  FIRN_INLINE static F32 half(const uint8_t* p) { return loadF16(reinterpret_cast<const uint16_t*>(p)); }
};

/// A packed matrix of `Format`: where its panels and their planes lie.
template <class Format>
struct QuantizedPanels {
  using Panel = QuantizedPanel<Format>;

  const uint8_t* base;
  PanelPlanes planes;
  size_t groupShare;  ///< bytes of a panel per group, in whole cache lines

  FIRN_INLINE QuantizedPanels(const void* weight, size_t groups) : base(static_cast<const uint8_t*>(weight)) {
    planes = panelPlanes(Format::kType, groups * kGroup);
    groupShare = groups == 0 ? 0 : roundUp64((planes.panelBytes + groups - 1) / groups);
  }
  /// The planes of a panel. Without groups there are none, and no memory behind `base`.
  FIRN_INLINE Panel panel(size_t index) const {
    if (groupShare == 0) return {base, base, base, 0};
    const uint8_t* start = base + index * planes.panelBytes;
    Panel found{start, start + planes.scalesOffset, start + planes.minsOffset, 0};
    if constexpr (Format::kSuper) {
      found.firstGroup = start[planes.minsOffset] % kSuperGroups;
      found.minPlane += kRowsOf4;
    }
    return found;
  }
  /// Asks for a part of a panel that will be used later, `group` saying which. The planes of a panel are short streams,
  /// which the hardware finds too late: with this a matrix-vector product reads at 0.9 of the memory's speed, without
  /// at half of it. An address beyond the weights is harmless.
  FIRN_INLINE void prefetch(size_t panel, size_t group) const {
    const uintptr_t first = reinterpret_cast<uintptr_t>(base) + panel * planes.panelBytes + group * groupShare;
    for (size_t line = 0; line < groupShare; line += 64)
      __builtin_prefetch(reinterpret_cast<const void*>(first + line));
  }
};

/// Puts the bits above the fourth on top of the nibbles of row `row` (0..7, four codes of each output) of a group.
template <class Format>
FIRN_INLINE Bytes withHighBits(const uint8_t* group, int row, Bytes nibbles) {
  constexpr int kBits = Format::kCodeBits - 4;
  if constexpr (kBits == 0) return nibbles;
  const Bytes line = loadBytes(group + (4 + row * kBits / 8) * kRowsOf4);
  return orBytes(nibbles, bitsToFour(line, row * kBits % 8, kBits));
}

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
