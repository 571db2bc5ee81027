// softcap: out = cap * tanh(x / cap), in fp32: keeps values inside (-cap, cap). Source: Gemma Team, "Gemma 2", 2024.
#pragma once

#include "kernels/reference/view.h"

namespace firn::reference {

struct SoftcapArgs {
  ConstMatrix in;  ///< [m, n]
  Matrix out;      ///< [m, n]; may be `in`
  float cap = 0;   ///< above 0
};

void softcap(const SoftcapArgs& args);

}  // namespace firn::reference
