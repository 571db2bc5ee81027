// bfloat16 weights (the upper half of a binary32), kept as they are.
#pragma once

#include "kernels/quant/format.h"

namespace firn::quant {

const PanelFormat& bf16Format();

}  // namespace firn::quant
