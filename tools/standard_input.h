// Standard input as a text, and the standard descriptors of a program that was started without them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace firn::tools {

/// Everything that standard input holds, at most `limitBytes`. io when it cannot be read; out_of_range as soon as there
/// is more than the limit, for the reason `limit`; cancelled when a signal asks the program to end while it waits.
Result<std::string> readStandardInput(uint64_t limitBytes, std::string_view limit);

/// Puts something in the place of standard descriptors that are closed, so that no file which the program opens gets
/// their numbers. Reads and writes fail there, as they would have. Call it before any file is opened.
void occupyStandardDescriptors();

}  // namespace firn::tools
