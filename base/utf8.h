// Where the characters of a text lie, valid or not (Unicode 15, tables 3-7 and 3-8). Not here: decoding, case,
// normalization.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace firn {

/// What the bytes at the start of a text are.
enum class Utf8Kind : uint8_t {
  kValid,       ///< one character
  kInvalid,     ///< a maximal part of no character: to be replaced by one U+FFFD
  kIncomplete,  ///< the text ends within what may still become a character
};

/// A kind and how many bytes it covers, at least 1.
struct Utf8Span {
  Utf8Kind kind;
  size_t bytes;
};

/// Looks at the first character of `text`, which is not empty. Surrogates, overlong forms and code points above
/// U+10FFFF are invalid.
Utf8Span firstCharacter(std::string_view text);

/// True when `text` is well-formed UTF-8: nothing but valid characters.
bool isUtf8(std::string_view text);

/// True when `text` is UTF-8 without control characters (U+0000..U+001F, U+007F..U+009F): safe to print on a terminal.
bool isPrintableUtf8(std::string_view text);

}  // namespace firn
