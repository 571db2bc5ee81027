// Checks text that comes from files. Not here: decoding, case, normalization.
#pragma once

#include <string_view>

namespace firn {

/// True when `text` is well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates, at most U+10FFFF).
bool isUtf8(std::string_view text);

/// True when `text` is UTF-8 without control characters (U+0000..U+001F, U+007F): safe to print on a terminal.
bool isPrintableUtf8(std::string_view text);

}  // namespace firn
