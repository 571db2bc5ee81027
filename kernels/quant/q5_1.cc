#include "kernels/quant/q5_1.h"

#include "kernels/quant/group_panels.h"

namespace firn::quant {
namespace {

struct Block {
  static constexpr DType kType = DType::kQ5_1;
  static constexpr uint32_t kCodeBits = 5;
  static constexpr bool kHasMins = true;
  static constexpr int32_t kZero = 0;

  static GroupCodes read(const std::byte* codes) { return codesOf5Bits(codes); }
};

}  // namespace

const PanelFormat& q51Format() {
  static constexpr PanelFormat kFormat = GroupPanels<Block>::format();
  return kFormat;
}

}  // namespace firn::quant
