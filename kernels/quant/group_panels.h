// Panels of the formats with blocks of 32 weights: an f16 scale, for some an f16 min, and the codes. What the bytes of
// a panel mean is told in panel.h; a format says how its codes lie in a block and which of them is worth zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/quant/format.h"
#include "kernels/quant/group_planes.h"

namespace firn::quant {

/// The PanelFormat functions of `Block`, which has kType, kCodeBits (4, 5 or 8), kHasMins, kZero (the code of a weight
/// of 0 where there is no min) and `GroupCodes read(const std::byte* codes)`, which gives unsigned codes.
template <typename Block>
struct GroupPanels {
  static constexpr uint64_t kCodesOffset = (Block::kHasMins ? 2 : 1) * sizeof(uint16_t);
  static constexpr uint64_t kBlockBytes = kCodesOffset + Block::kCodeBits * kGroup / 8;
  static constexpr uint64_t kGroupBytes = groupCodeBytes(Block::kCodeBits);

  static void dequantize(const std::byte* source, std::span<float> out) {
    for (uint64_t g = 0; g < out.size() / kGroup; ++g) {
      const std::byte* block = source + g * kBlockBytes;
      decode(Block::read(block + kCodesOffset), loadAs<uint16_t>(block), minOf(block), &out[g * kGroup]);
    }
  }

  static void pack(const PanelRows& rows, uint64_t columns, std::byte* panel) {
    const PanelShape planes = planesOf(Block::kType, columns);
    std::memset(panel, 0, planes.panelBytes);
    for (uint64_t g = 0; g < columns / kGroup; ++g) {
      for (uint32_t r = 0; r < kPanelRows; ++r) {
        if (rows[r] == nullptr) continue;
        const std::byte* block = rows[r] + g * kBlockBytes;
        setPlaneBits(panel + planes.scalesOffset, g, r, loadAs<uint16_t>(block));
        if constexpr (Block::kHasMins) setPlaneBits(panel + planes.minsOffset, g, r, minOf(block));
        putCodes<Block::kCodeBits>(Block::read(block + kCodesOffset), r, panel + g * kGroupBytes);
      }
    }
  }

  static void unpackRow(const std::byte* panel, uint32_t row, std::span<float> out) {
    const PanelShape planes = planesOf(Block::kType, out.size());
    for (uint64_t g = 0; g < out.size() / kGroup; ++g) {
      const uint16_t min = Block::kHasMins ? planeBits(panel + planes.minsOffset, g, row) : uint16_t{0};
      decode(takeCodes<Block::kCodeBits>(panel + g * kGroupBytes, row), planeBits(panel + planes.scalesOffset, g, row),
             min, &out[g * kGroup]);
    }
  }

  static constexpr PanelFormat format() {
    return {.type = Block::kType, .dequantize = dequantize, .pack = pack, .unpackRow = unpackRow};
  }

 private:
  static uint16_t minOf(const std::byte* block) {
    return Block::kHasMins ? loadAs<uint16_t>(block + sizeof(uint16_t)) : uint16_t{0};
  }

  static void decode(const GroupCodes& codes, uint16_t scaleBits, uint16_t minBits, float* out) {
    const float scale = f16ToF32(scaleBits);
    const float min = f16ToF32(minBits);
    for (uint32_t i = 0; i < kGroup; ++i) {
      const float product = scale * static_cast<float>(codes[i] - Block::kZero);
      out[i] = Block::kHasMins ? product + min : product;  // no min is not a min of 0: -0 + 0 is 0
    }
  }
};

}  // namespace firn::quant
