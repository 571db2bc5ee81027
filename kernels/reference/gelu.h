// gelu: the exact form x/2 * (1 + erf(x / sqrt(2))), or the tanh form
// x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), in fp32. Models name which one they were trained with.
// Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.
#pragma once

#include "kernels/reference/view.h"

namespace firn::reference {

struct GeluArgs {
  ConstMatrix in;  ///< [m, n]
  Matrix out;      ///< [m, n]; may be `in`
  bool tanhForm = false;
};

void gelu(const GeluArgs& args);

}  // namespace firn::reference
