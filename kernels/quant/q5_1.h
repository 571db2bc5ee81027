// Q5_1: blocks of 32 weights, 24 bytes: f16 scale d, f16 min m, then fifth bits and nibbles as in Q5_0.
// Weight = d * code + m, product and sum each rounded to fp32. Source of the layout: the GGUF specification.
#pragma once

#include "kernels/quant/format.h"

namespace firn::quant {

const PanelFormat& q51Format();

}  // namespace firn::quant
