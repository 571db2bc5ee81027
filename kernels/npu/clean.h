// npu.clean: rows of V that the mask takes away become 0, since 0 * NaN would be NaN in S * V (SHAVE).
#pragma once

#include "kernels/npu/view.h"

namespace firn::npu {

struct CleanArgs {
  MatrixView<uint16_t> v;         ///< [r, d], in place
  const uint8_t* mask = nullptr;  ///< r values
};

void clean(const CleanArgs& args);

}  // namespace firn::npu
