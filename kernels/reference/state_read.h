// state_read: the values of the first rows of a K or V cache in fp32: those of f32 and f16 exactly, those of i8 as
// scale * code, rounded. Attention reads a cache of f32 as it is.
#pragma once

#include <cstdint>

#include "kernels/reference/view.h"

namespace firn::reference {

struct StateReadArgs {
  CacheView cache;    ///< heads, d
  Heads out;          ///< heads, d; must not overlap the cache
  uint64_t rows = 0;  ///< of both, from 0 on
};

void stateRead(const StateReadArgs& args);

}  // namespace firn::reference
