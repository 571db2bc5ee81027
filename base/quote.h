// Names from outside, made safe to stand in a message: of keys and tensors, of files.
#pragma once

#include <string>
#include <string_view>

namespace firn {

/// `text` in single quotes, bytes outside printable ASCII as \xNN, cut after 80 characters with "...".
std::string quoted(std::string_view text);

/// A message for a terminal: control characters but newline and tab, and bytes that are no UTF-8, as \xNN.
std::string printableText(std::string_view text);

/// The name of a file for a message: as it is, or in single quotes with bytes outside printable ASCII as \xNN when it
/// is empty, no UTF-8 or holds control characters. Never cut.
std::string printablePath(std::string_view path);

}  // namespace firn
