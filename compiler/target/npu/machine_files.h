// Where machine files are: built in under a name, or a file of the user. Not here: what they say
// (blob/machine/machine.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace firn::npu {

/// The machine of a compile that names none.
inline constexpr const char* kDefaultMachine = "lnl";

/// The names of the machines that are built in, sorted. Valid for good.
std::vector<std::string_view> machineNames();

/// The text of a machine file, not yet verified. A name without slash and dot is that of a built-in machine, any other
/// is the path of a file of at most 1 MiB. not_found, io or invalid_argument; messages list the built-in machines.
Result<std::string> machineText(std::string_view nameOrPath);

}  // namespace firn::npu
