#include "kernels/quant/q8_0.h"

#include "kernels/quant/group_panels.h"

namespace firn::quant {
namespace {

struct Block {
  static constexpr DType kType = DType::kQ8_0;
  static constexpr uint32_t kCodeBits = 8;
  static constexpr bool kHasMins = false;
  static constexpr int32_t kZero = 128;

  /// Two's complement byte + 128, modulo 256, is the byte with its top bit flipped.
  static GroupCodes read(const std::byte* codes) {
    GroupCodes biased;
    for (uint32_t i = 0; i < kGroup; ++i) biased[i] = static_cast<uint8_t>(codes[i] ^ std::byte{0x80});
    return biased;
  }
};

}  // namespace

const PanelFormat& q80Format() {
  static constexpr PanelFormat kFormat = GroupPanels<Block>::format();
  return kFormat;
}

}  // namespace firn::quant
