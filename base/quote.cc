#include "base/quote.h"

#include "base/utf8.h"

namespace firn {

namespace {

void appendHex(std::string& out, char character) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(character);
  out += "\\x";
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && byte < 0x7F) {
      out += character;
    } else {
      appendHex(out, character);
    }
  }
  return out;
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr size_t kLongest = 80;
  return "'" + escaped(text.substr(0, kLongest)) + (text.size() > kLongest ? "...'" : "'");
}

std::string printableText(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Span span = firstCharacter(text);
    const std::string_view character = text.substr(0, span.bytes);
    if (character == "\n" || character == "\t" || isPrintableUtf8(character)) {
      out += character;
    } else {
      for (const char byte : character) appendHex(out, byte);
    }
    text.remove_prefix(span.bytes);
  }
  return out;
}

std::string printablePath(std::string_view path) {
  return !path.empty() && isPrintableUtf8(path) ? std::string(path) : "'" + escaped(path) + "'";
}

}  // namespace firn
