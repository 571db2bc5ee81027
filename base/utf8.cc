#include "base/utf8.h"

#include <cstdint>

namespace firn {

namespace {

bool isContinuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

/// Length of the well-formed sequence at the start of `text`; 0 when there is none.
size_t sequenceLength(std::string_view text) {
  const auto byteAt = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byteAt(0);
  if (lead < 0x80) return 1;
  size_t length = 0;
  uint8_t low = 0x80;  // bounds of the second byte
  uint8_t high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if ((lead & 0xF0) == 0xE0) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length || byteAt(1) < low || byteAt(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (!isContinuation(byteAt(i))) return 0;
  }
  return length;
}

}  // namespace

bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = sequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool isPrintableUtf8(std::string_view text) {
  for (char c : text) {
    if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F) return false;
  }
  return isUtf8(text);
}

}  // namespace firn
