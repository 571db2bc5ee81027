// Q4_0: blocks of 32 weights, 18 bytes: f16 scale d, then 16 bytes whose low nibbles are the codes of weights 0..15 and
// whose high nibbles those of 16..31. Weight = d * (code - 8). Source of the layout: the GGUF specification.
#pragma once

#include "kernels/quant/format.h"

namespace firn::quant {

const PanelFormat& q40Format();

}  // namespace firn::quant
