#include "kernels/quant/bf16.h"

#include <cstdint>

#include "kernels/quant/float_panels.h"

namespace firn::quant {
const PanelFormat& bf16Format() {
  static constexpr PanelFormat kFormat = FloatPanels<DType::kBf16, uint16_t, bf16ToF32>::format();
  return kFormat;
}

}  // namespace firn::quant
