// silu: out = x / (1 + exp(-x)), in fp32. Source: Elfwing, Uchibe and Doya, "Sigmoid-Weighted Linear Units", 2017.
#pragma once

#include "kernels/reference/view.h"

namespace firn::reference {

struct SiluArgs {
  ConstMatrix in;  ///< [m, n]
  Matrix out;      ///< [m, n]; may be `in`
};

void silu(const SiluArgs& args);

}  // namespace firn::reference
