// scale: out = x * factor, in fp32 (the factor itself rounded to fp32). Used by Gemma (sqrt of the width on the
// embedding) and Granite.
#pragma once

#include "kernels/reference/view.h"

namespace firn::reference {

struct ScaleArgs {
  ConstMatrix in;  ///< [m, n]
  Matrix out;      ///< [m, n]; may be `in`
  float factor = 1.0F;
};

void scale(const ScaleArgs& args);

}  // namespace firn::reference
