#include "genai/tokenizer/special_tokens.h"

#include <algorithm>

namespace firn::genai {

SpecialTokens::SpecialTokens(const blob::TokenizerImage& image) : image_(image) {
  for (const uint32_t id : image.specials()) firstBytes_.set(static_cast<uint8_t>(image.tokenBytes(id)[0]));
}

std::optional<SpecialMatch> SpecialTokens::find(std::string_view text, size_t from, bool control) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!firstBytes_.test(static_cast<uint8_t>(text[begin]))) continue;
    if (auto match = longestAt(text, begin, control)) return match;
  }
  return std::nullopt;
}

std::optional<SpecialMatch> SpecialTokens::longestAt(std::string_view text, size_t begin, bool control) const {
  std::optional<SpecialMatch> longest;
  const auto all = image_.specials();
  auto first = all.begin();
  auto last = all.end();
  // [first, last) are the tokens that begin with the `length` bytes read so far; the shortest stands first.
  for (size_t length = 0; first != last && begin + length <= text.size(); ++length) {
    const std::string_view shortest = image_.tokenBytes(*first);
    if (shortest.size() == length) {
      if (control || image_.tokenType(*first) == blob::TokenType::kUserDefined) longest = {begin, length, *first};
      ++first;
    }
    if (first == last || begin + length == text.size()) break;
    const auto byte = static_cast<uint8_t>(text[begin + length]);
    const auto byteOf = [this, length](uint32_t id) { return static_cast<uint8_t>(image_.tokenBytes(id)[length]); };
    if (byteOf(*first) == byte && byteOf(*(last - 1)) == byte) continue;
    first = std::partition_point(first, last, [&](uint32_t id) { return byteOf(id) < byte; });
    last = std::partition_point(first, last, [&](uint32_t id) { return byteOf(id) == byte; });
  }
  return longest;
}

}  // namespace firn::genai
