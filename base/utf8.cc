#include "base/utf8.h"

namespace firn {

Utf8Span firstCharacter(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return {Utf8Kind::kValid, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Utf8Kind::kInvalid, 1};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms (E0, F0), surrogates (ED) and what lies above U+10FFFF (F4).
  uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {Utf8Kind::kIncomplete, i};
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < low || byte > high) return {Utf8Kind::kInvalid, i};
    low = 0x80;
    high = 0xBF;
  }
  return {Utf8Kind::kValid, length};
}

bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Span span = firstCharacter(text);
    if (span.kind != Utf8Kind::kValid) return false;
    text.remove_prefix(span.bytes);
  }
  return true;
}

bool isPrintableUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    // U+0080 .. U+009F, the C1 controls (U+009B begins terminal commands), are C2 80 .. C2 9F.
    const bool isC1 = byte == 0xC2 && i + 1 < text.size() && static_cast<uint8_t>(text[i + 1]) < 0xA0;
    if (byte < 0x20 || byte == 0x7F || isC1) return false;
  }
  return isUtf8(text);
}

}  // namespace firn
