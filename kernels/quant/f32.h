// IEEE binary32 weights, kept as they are.
#pragma once

#include "kernels/quant/format.h"

namespace firn::quant {

const PanelFormat& f32Format();

}  // namespace firn::quant
