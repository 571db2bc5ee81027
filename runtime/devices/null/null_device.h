// The device "null": takes programs of any target, checks everything that a device checks, computes nothing, and
// writes outputs that tests can predict. A test double, and the recipe for a new device (docs/howto/add_a_device.md).
//
// Outputs: row i of `hidden` is the position of the row, then zeros; row i of `logits` is 1 at id (position + 1) mod V
// and 0 elsewhere, where a head takes the position from its hidden row. The cache is not touched.
#pragma once

#include <memory>

#include "base/status.h"
#include "runtime/backend.h"

namespace firn::runtime {

Result<std::unique_ptr<Backend>> openNullBackend(const DeviceOptions& options);

}  // namespace firn::runtime
