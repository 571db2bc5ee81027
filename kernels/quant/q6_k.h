// Q6_K: super-blocks of 256 weights, 210 bytes: 128 bytes of nibbles, 64 bytes of pairs of high bits, 16 signed bytes,
// each the scale of 16 weights, f16 scale d. Of the two halves of 128 weights, half h has the nibbles from byte 64h and
// the pairs from byte 32h; weight 32t + l of a half (t 0..3, l 0..31) has the low (t < 2) or high nibble of byte 32 (t
// mod 2) + l, and pair t of byte l. Weight = (d * scale) * (code - 32), exact in fp32. Source of the layout: the GGUF
// specification.
#pragma once

#include "kernels/quant/format.h"

namespace firn::quant {

const PanelFormat& q6kFormat();

}  // namespace firn::quant
