// Builds the text of a message from pieces: concat("task ", 3, ": ", name). Not for formatting numbers in any other
// way.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace firn {

inline void appendPiece(std::string& out, std::string_view piece) { out.append(piece); }
template <typename Number>
  requires std::is_arithmetic_v<Number>
void appendPiece(std::string& out, Number piece) {
  out.append(std::to_string(piece));
}

/// The pieces one after the other; numbers as std::to_string prints them.
template <typename... Pieces>
std::string concat(const Pieces&... pieces) {
  std::string out;
  (appendPiece(out, pieces), ...);
  return out;
}

}  // namespace firn
