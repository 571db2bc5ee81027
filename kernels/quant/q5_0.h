// Q5_0: blocks of 32 weights, 22 bytes: f16 scale d, 4 bytes of which bit k is the fifth bit of the code of weight k,
// then 16 bytes of nibbles as in Q4_0. Weight = d * (code - 16). Source of the layout: the GGUF specification.
#pragma once

#include "kernels/quant/format.h"

namespace firn::quant {

const PanelFormat& q50Format();

}  // namespace firn::quant
