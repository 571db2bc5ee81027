#include "base/quote.h"

#include "base/utf8.h"

namespace firn {

namespace {

std::string escaped(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && byte < 0x7F) {
      out += character;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr size_t kLongest = 80;
  return "'" + escaped(text.substr(0, kLongest)) + (text.size() > kLongest ? "...'" : "'");
}

std::string printablePath(std::string_view path) {
  return isPrintableUtf8(path) ? std::string(path) : "'" + escaped(path) + "'";
}

}  // namespace firn
