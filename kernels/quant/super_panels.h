// Panels of the formats with super-blocks of 256 weights in 8 groups of 32, each group with scales of its own that
// multiply those of the super-block. What the bytes of a panel mean is told in panel.h; a format says how a group lies
// in a block and what a code is worth.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/quant/format.h"
#include "kernels/quant/group_planes.h"

namespace firn::quant {

inline constexpr uint64_t kSuperGroups = 8;
/// The line in front of the super-blocks, with the place of the first group.
inline constexpr uint64_t kPlaceBytes = 64;

/// One row of a group of 32 weights, as it is stored: enough to compute them.
struct SuperGroup {
  GroupCodes codes;
  std::array<uint8_t, 2> scales;   ///< scale and min of the group, or the scales of its halves
  std::array<uint16_t, 2> supers;  ///< bits of d and dmin; dmin is 0 where there is none
};

/// The 6-bit scale and min of group `group` of the 12 bytes of a q4_k or q5_k block. Groups 0..3 have theirs in the low
/// bits of bytes 0..3 and 4..7; those of groups 4..7 are low and high nibbles of bytes 8..11, with two more bits on top
/// of bytes 0..3 and 4..7.
inline std::array<uint8_t, 2> superGroupScales(const std::byte* packed, uint32_t group) {
  const auto at = [packed](uint32_t i) { return static_cast<uint32_t>(packed[i]); };
  const uint32_t low = group % 4;
  if (group < 4) return {static_cast<uint8_t>(at(low) & 63), static_cast<uint8_t>(at(low + 4) & 63)};
  return {static_cast<uint8_t>((at(low + 8) & 15) | at(low) >> 6 << 4),
          static_cast<uint8_t>(at(low + 8) >> 4 | at(low + 4) >> 6 << 4)};
}

/// The PanelFormat functions of `Block`, which has kType, kBlockBytes, kCodeBits, kHasMins, `SuperGroup read(block,
/// group)` and `void decode(SuperGroup, float* 32 weights)`.
template <typename Block>
struct SuperPanels {
  static constexpr uint64_t kGroupBytes = groupCodeBytes(Block::kCodeBits);
  /// 16 rows of d, and 16 of dmin.
  static constexpr uint64_t kSuperBytes = (Block::kHasMins ? 2 : 1) * kPanelRows * sizeof(uint16_t);

  static void dequantize(const std::byte* source, std::span<float> out) {
    for (uint64_t g = 0; g < out.size() / kGroup; ++g) {
      Block::decode(Block::read(source + g / kSuperGroups * Block::kBlockBytes, g % kSuperGroups), &out[g * kGroup]);
    }
  }

  static void pack(const PanelRows& rows, uint64_t columns, std::byte* panel) {
    const PanelShape planes = planesOf(Block::kType, columns);
    std::memset(panel, 0, planes.panelBytes);
    if (columns == 0) return;
    const uint64_t first = rows.skip / kGroup;
    storeAs(panel + planes.supersOffset, static_cast<uint32_t>(first));
    for (uint64_t g = 0; g < columns / kGroup; ++g) {
      const uint64_t super = (first + g) / kSuperGroups;
      for (uint32_t r = 0; r < kPanelRows; ++r) {
        if (rows[r] == nullptr) continue;
        const SuperGroup group = Block::read(rows[r] + super * Block::kBlockBytes, (first + g) % kSuperGroups);
        putCodes<Block::kCodeBits>(group.codes, r, panel + g * kGroupBytes);
        std::byte* scales = panel + planes.scalesOffset + g * kGroupScaleBytes + r;
        std::byte* supers = superOf(panel, planes, super, r);
        storeAs(scales, group.scales[0]);
        storeAs(scales + kPanelRows, group.scales[1]);
        storeAs(supers, group.supers[0]);
        if (Block::kHasMins) storeAs(supers + kPanelRows * sizeof(uint16_t), group.supers[1]);
      }
    }
  }

  static void unpackRow(const std::byte* panel, uint32_t row, std::span<float> out) {
    if (out.empty()) return;
    const PanelShape planes = planesOf(Block::kType, out.size());
    const uint64_t first = loadAs<uint32_t>(panel + planes.supersOffset) % kSuperGroups;
    for (uint64_t g = 0; g < out.size() / kGroup; ++g) {
      const std::byte* scales = panel + planes.scalesOffset + g * kGroupScaleBytes + row;
      const std::byte* supers = superOf(panel, planes, (first + g) / kSuperGroups, row);
      SuperGroup group;
      group.codes = takeCodes<Block::kCodeBits>(panel + g * kGroupBytes, row);
      group.scales = {loadAs<uint8_t>(scales), loadAs<uint8_t>(scales + kPanelRows)};
      group.supers = {loadAs<uint16_t>(supers), 0};
      if (Block::kHasMins) group.supers[1] = loadAs<uint16_t>(supers + kPanelRows * sizeof(uint16_t));
      Block::decode(group, &out[g * kGroup]);
    }
  }

  static constexpr PanelFormat format() {
    return {.type = Block::kType, .dequantize = dequantize, .pack = pack, .unpackRow = unpackRow};
  }

 private:
  /// Where d of a row lies; dmin is 16 f16 behind it.
  template <typename Byte>
  static Byte* superOf(Byte* panel, const PanelShape& planes, uint64_t super, uint32_t row) {
    return panel + planes.supersOffset + kPlaceBytes + super * kSuperBytes + row * sizeof(uint16_t);
  }
};

/// The weights of a group with a scale and a min.
inline void decodeScaleAndMin(const SuperGroup& group, float* out) {
  const float scale = f16ToF32(group.supers[0]) * static_cast<float>(group.scales[0]);
  const float min = f16ToF32(group.supers[1]) * static_cast<float>(group.scales[1]);
  for (uint32_t i = 0; i < kGroup; ++i) out[i] = scale * static_cast<float>(group.codes[i]) - min;
}

}  // namespace firn::quant
