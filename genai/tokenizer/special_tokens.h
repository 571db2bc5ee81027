// Finds control and user-defined tokens in text.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "blob/tokenizer_image.h"

namespace firn::genai {

/// A special token at bytes [begin, begin + bytes) of a text.
struct SpecialMatch {
  size_t begin;
  size_t bytes;
  uint32_t id;
};

/// Searches an image's sorted list of special tokens in place. Immutable; any thread; the image must outlive it.
class SpecialTokens {
 public:
  explicit SpecialTokens(const blob::TokenizerImage& image);

  /// The leftmost special token at or after byte `from`, the longest of those that begin there. Only user-defined ones
  /// unless `control`. O(bytes * longest special token) in the worst case.
  std::optional<SpecialMatch> find(std::string_view text, size_t from, bool control) const;

 private:
  std::optional<SpecialMatch> longestAt(std::string_view text, size_t begin, bool control) const;

  blob::TokenizerImage image_;
  std::bitset<256> firstBytes_;
};

}  // namespace firn::genai
