// The device "reference": the oracle. Plain fp32 functions of kernels/reference, one lane, one thread.
#pragma once

#include <memory>

#include "base/status.h"
#include "runtime/backend.h"

namespace firn::runtime {

Result<std::unique_ptr<Backend>> openReferenceBackend(const DeviceOptions& options);

}  // namespace firn::runtime
