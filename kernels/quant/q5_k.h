// Q5_K: super-blocks of 256 weights, 176 bytes: d, dmin and the scales and mins of 8 groups as in Q4_K, then 32 bytes
// of which bit g of byte l is the fifth bit of weight l of group g, then 128 bytes of nibbles as in Q4_K. Weight = (d *
// scale) * code - dmin * min. Source of the layout: the GGUF specification.
#pragma once

#include "kernels/quant/format.h"

namespace firn::quant {

const PanelFormat& q5kFormat();

}  // namespace firn::quant
