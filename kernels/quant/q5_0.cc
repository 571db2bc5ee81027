#include "kernels/quant/q5_0.h"

#include "kernels/quant/group_panels.h"

namespace firn::quant {
namespace {

struct Block {
  static constexpr DType kType = DType::kQ5_0;
  static constexpr uint32_t kCodeBits = 5;
  static constexpr bool kHasMins = false;
  static constexpr int32_t kZero = 16;

  static GroupCodes read(const std::byte* codes) { return codesOf5Bits(codes); }
};

}  // namespace

const PanelFormat& q50Format() {
  static constexpr PanelFormat kFormat = GroupPanels<Block>::format();
  return kFormat;
}

}  // namespace firn::quant
