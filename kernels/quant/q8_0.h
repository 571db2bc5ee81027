// Q8_0: blocks of 32 weights, 34 bytes: f16 scale d, then 32 signed codes. Weight = d * code.
// Panels hold code + 128, unsigned, as the dot products of the cpu target want it.
// Source of the layout: the GGUF specification.
#pragma once

#include "kernels/quant/format.h"

namespace firn::quant {

const PanelFormat& q80Format();

}  // namespace firn::quant
