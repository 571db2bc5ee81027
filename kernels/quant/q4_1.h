// Q4_1: blocks of 32 weights, 20 bytes: f16 scale d, f16 min m, then 16 bytes of nibbles as in Q4_0.
// Weight = d * code + m, product and sum each rounded to fp32. Source of the layout: the GGUF specification.
#pragma once

#include "kernels/quant/format.h"

namespace firn::quant {

const PanelFormat& q41Format();

}  // namespace firn::quant
