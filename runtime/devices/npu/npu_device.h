// The device "npu": a simulation of the machine that a blob was compiled for. It computes the values that the machine
// would compute and says, to the picosecond, how long it would take (runtime/simulated_time.h). Both are the same for
// the same blob and inputs, everywhere.
#pragma once

#include <memory>

#include "base/status.h"
#include "runtime/backend.h"

namespace firn::runtime {

/// invalid_argument, unsupported: an instruction set that does not exist, or not here.
Result<std::unique_ptr<Backend>> openNpuBackend(const DeviceOptions& options);

}  // namespace firn::runtime
