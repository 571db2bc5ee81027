// The device "cpu": runs the lanes of a program on a team of threads, with the kernels of the best instruction set.
#pragma once

#include <memory>

#include "base/status.h"
#include "runtime/backend.h"

namespace firn::runtime {

/// unsupported when the machine lacks the instruction set asked for, invalid_argument when there is none of that name.
Result<std::unique_ptr<Backend>> openCpuBackend(const DeviceOptions& options);

}  // namespace firn::runtime
