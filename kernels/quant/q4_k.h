// Q4_K: super-blocks of 256 weights, 144 bytes: f16 scale d, f16 min dmin, 12 bytes with a 6-bit scale and a 6-bit min
// of each of 8 groups of 32 (superGroupScales), then 128 bytes of nibbles: bytes 32c .. 32c + 31 hold group 2c in their
// low nibbles and group 2c + 1 in their high ones. Weight = (d * scale) * code - dmin * min: both products are exact in
// fp32, the sum is rounded once. Source of the layout: the GGUF specification.
#pragma once

#include "kernels/quant/format.h"

namespace firn::quant {

const PanelFormat& q4kFormat();

}  // namespace firn::quant
