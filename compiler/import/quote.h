// Names found in a file, made safe to stand in a message.
#pragma once

#include <string>
#include <string_view>

namespace firn::import {

/// `text` in single quotes, bytes outside printable ASCII as \xNN, cut after 80 characters with "...".
std::string quoted(std::string_view text);

}  // namespace firn::import
