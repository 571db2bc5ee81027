#include "kernels/quant/q5_k.h"

#include "kernels/quant/super_panels.h"

namespace firn::quant {
namespace {

struct Block {
  static constexpr DType kType = DType::kQ5_K;
  static constexpr uint64_t kBlockBytes = 176;
  static constexpr uint32_t kCodeBits = 5;
  static constexpr bool kHasMins = true;

  static SuperGroup read(const std::byte* block, uint32_t index) {
    SuperGroup group;
    group.supers = {loadAs<uint16_t>(block), loadAs<uint16_t>(block + 2)};
    group.scales = superGroupScales(block + 4, index);
    const std::byte* fifths = block + 16;
    const std::byte* nibbles = block + 48 + index / 2 * kGroup;
    for (uint32_t i = 0; i < kGroup; ++i) {
      const uint32_t nibble = static_cast<uint32_t>(nibbles[i]) >> 4 * (index % 2) & 15;
      group.codes[i] = static_cast<uint8_t>(nibble | (static_cast<uint32_t>(fifths[i]) >> index & 1) << 4);
    }
    return group;
  }

  static void decode(const SuperGroup& group, float* out) { decodeScaleAndMin(group, out); }
};

}  // namespace

const PanelFormat& q5kFormat() {
  static constexpr PanelFormat kFormat = SuperPanels<Block>::format();
  return kFormat;
}

}  // namespace firn::quant
