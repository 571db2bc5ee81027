// Whether a program fits in the memory of the machine that device npu is.
#pragma once

#include "base/status.h"
#include "blob/layout.h"
#include "blob/machine/machine.h"

namespace firn::blob {

/// resource_exhausted, with all sizes: weights, the cache of one session and scratch are more than ddr.bytes.
Status checkMachineMemory(const ProgramHeader& header, const machine::Machine& machine);

}  // namespace firn::blob
