// IEEE binary16 weights, kept as they are.
#pragma once

#include "kernels/quant/format.h"

namespace firn::quant {

const PanelFormat& f16Format();

}  // namespace firn::quant
