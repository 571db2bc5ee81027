// npu.expand_groups and npu.embed_groups: weights that are stored as planes (kernels/quant/group_split.h) as f16, and
// rows of them by token id as f32 (SHAVE). The value of a weight in f32 is that of kernels/quant for the source format;
// f16 is rounded and kept finite as in expand.h.
#pragma once

#include "kernels/npu/view.h"

namespace firn::npu {

struct ExpandGroupsArgs {
  GroupsView in;             ///< [n, K]
  MatrixView<uint16_t> out;  ///< [n, K]; does not overlap
};

struct EmbedGroupsArgs {
  const int32_t* ids = nullptr;  ///< out.rows values, each in [0, table.codes.rows)
  GroupsView table;              ///< [V, E]
  MatrixView<float> out;         ///< [m, E]
};

void expandGroups(const ExpandGroupsArgs& args);
void embedGroups(const EmbedGroupsArgs& args);

}  // namespace firn::npu
