#include "compiler/import/quote.h"

namespace firn::import {

std::string quoted(std::string_view text) {
  constexpr size_t kLongest = 80;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "'";
  for (const char character : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && byte < 0x7F) {
      out += character;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  if (text.size() > kLongest) out += "...";
  return out + "'";
}

}  // namespace firn::import
