// Where the characters of a byte string lie, valid or not (Unicode 15, tables 3-7 and 3-8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace firn::genai {

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

}  // namespace firn::genai
