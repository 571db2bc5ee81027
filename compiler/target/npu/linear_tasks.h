// The tasks of a group of linear layers. Not here: which layers form a group (linear_group.h), how they are cut
// (linear_tiling.h).
#pragma once

#include "compiler/target/npu/linear_group.h"
#include "compiler/target/npu/linear_tiling.h"

namespace firn::target::npu {

/// Writes the tasks of `group`, cut as `tiling` says. Of a tiling with kChunk < k the group has one layer and no norm.
void emitLinear(NpuBody& npu, const LinearGroup& group, const LinearTiling& tiling);

}  // namespace firn::target::npu
