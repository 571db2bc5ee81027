#include "kernels/quant/q4_0.h"

#include "kernels/quant/group_panels.h"

namespace firn::quant {
namespace {

struct Block {
  static constexpr DType kType = DType::kQ4_0;
  static constexpr uint32_t kCodeBits = 4;
  static constexpr bool kHasMins = false;
  static constexpr int32_t kZero = 8;

  static GroupCodes read(const std::byte* codes) { return codesOf4Bits(codes); }
};

}  // namespace

const PanelFormat& q40Format() {
  static constexpr PanelFormat kFormat = GroupPanels<Block>::format();
  return kFormat;
}

}  // namespace firn::quant
