// npu.embed: rows of a table by token id, as f32: the values of kernels/quant, no rounding of their own (SHAVE).
#pragma once

#include "kernels/npu/view.h"

namespace firn::npu {

struct EmbedArgs {
  const int32_t* ids = nullptr;  ///< out.rows values, each in [0, table.rows)
  RawView table;                 ///< [V, E]
  MatrixView<float> out;         ///< [m, E]
};

void embed(const EmbedArgs& args);

}  // namespace firn::npu
