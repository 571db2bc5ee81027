// How the memories of the tiles of a simulated machine lie in the memory of this computer: one behind the other.
#pragma once

#include <cstdint>

#include "base/align.h"
#include "blob/layout.h"
#include "blob/machine/machine.h"

namespace firn::runtime {

struct CmxMemory {
  explicit CmxMemory(const machine::Machine& machine)
      : tileBytes(roundUp(machine.cmxBytes, blob::kTensorAlignment)), bytes(machine.tiles * tileBytes) {}

  uint64_t tileBytes;  ///< from the CMX of a tile to that of the next
  uint64_t bytes;      ///< of all tiles
};

}  // namespace firn::runtime
