#include "kernels/quant/f32.h"

#include <bit>
#include <cstdint>

#include "kernels/quant/float_panels.h"

namespace firn::quant {
namespace {

float fromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

}  // namespace

const PanelFormat& f32Format() {
  static constexpr PanelFormat kFormat = FloatPanels<DType::kF32, uint32_t, fromBits>::format();
  return kFormat;
}

}  // namespace firn::quant
