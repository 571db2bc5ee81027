// The target npu: a machine of tiles with DPU, SHAVE and on-chip memory, fed by DMA (docs/npu.md). Rules write tasks in
// an order in which they could run one by one; phase `schedule` decides what runs at once.
#pragma once

#include "compiler/target/target.h"

namespace firn::target {

const Target& npuTarget();

}  // namespace firn::target
