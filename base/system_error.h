// Turns a failed system call into a Status. Only for sources that call the operating system.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace firn {

/// "`what`: <the system's text for `error`>", as not_found for a missing file, resource_exhausted for a full disk,
/// full quota or no memory, io otherwise. `error` is an errno value.
Status systemError(std::string_view what, int error);

}  // namespace firn
