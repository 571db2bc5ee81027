#include "kernels/quant/f16.h"

#include <cstdint>

#include "kernels/quant/float_panels.h"

namespace firn::quant {
const PanelFormat& f16Format() {
  static constexpr PanelFormat kFormat = FloatPanels<DType::kF16, uint16_t, f16ToF32>::format();
  return kFormat;
}

}  // namespace firn::quant
