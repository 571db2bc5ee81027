// Which instruction set a device computes with.
#pragma once

#include "base/status.h"
#include "kernels/cpu/kernels.h"
#include "runtime/device.h"

namespace firn::runtime {

/// The one that the options name, else the best of this machine. invalid_argument: an unknown name; unsupported: this
/// machine lacks it.
Result<cpu::InstructionSet> instructionSetOf(const DeviceOptions& options);

}  // namespace firn::runtime
