#include "kernels/quant/q6_k.h"

#include "kernels/quant/super_panels.h"

namespace firn::quant {
namespace {

struct Block {
  static constexpr DType kType = DType::kQ6_K;
  static constexpr uint64_t kBlockBytes = 210;
  static constexpr uint32_t kCodeBits = 6;
  static constexpr bool kHasMins = false;

  static SuperGroup read(const std::byte* block, uint32_t index) {
    SuperGroup group;
    group.supers = {loadAs<uint16_t>(block + 208), 0};
    group.scales = {loadAs<uint8_t>(block + 192 + 2 * index), loadAs<uint8_t>(block + 193 + 2 * index)};
    const uint32_t half = index / 4;
    const uint32_t part = index % 4;
    const std::byte* nibbles = block + 64 * half + 32 * (part % 2);
    const std::byte* pairs = block + 128 + 32 * half;
    for (uint32_t i = 0; i < kGroup; ++i) {
      const uint32_t nibble = static_cast<uint32_t>(nibbles[i]) >> 4 * (part / 2) & 15;
      group.codes[i] = static_cast<uint8_t>(nibble | (static_cast<uint32_t>(pairs[i]) >> 2 * part & 3) << 4);
    }
    return group;
  }

  static void decode(const SuperGroup& group, float* out) {
    const float d = f16ToF32(group.supers[0]);
    for (uint32_t i = 0; i < kGroup; ++i) {
      const float scale = d * static_cast<float>(static_cast<int8_t>(group.scales[i / 16]));
      out[i] = scale * static_cast<float>(group.codes[i] - 32);
    }
  }
};

}  // namespace

const PanelFormat& q6kFormat() {
  static constexpr PanelFormat kFormat = SuperPanels<Block>::format();
  return kFormat;
}

}  // namespace firn::quant
