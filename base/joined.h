// Lists in messages and options: "cpu, reference", "16,64". Not for single pieces of a message (concat.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/concat.h"

namespace firn {

/// The pieces that `pieceOf` gives for the elements of `list`, in order, with `separator` between them; empty for an
/// empty list.
template <typename List, typename PieceOf = std::identity>
std::string joined(const List& list, std::string_view separator, const PieceOf& pieceOf = {}) {
  std::string out;
  for (const auto& element : list) {
    if (!out.empty()) out.append(separator);
    appendPiece(out, std::invoke(pieceOf, element));
  }
  return out;
}

}  // namespace firn
