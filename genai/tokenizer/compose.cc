#include "genai/tokenizer/compose.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <compare>
#include <span>
#include <vector>

namespace firn::genai {
namespace {

using Characters = std::vector<utf8proc_int32_t>;

constexpr auto kForm = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

bool isAscii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }

/// Where the next ASCII character, or the next other one, is.
size_t findKind(std::string_view text, size_t from, bool ascii) {
  while (from < text.size() && isAscii(text[from]) != ascii) ++from;
  return from;
}

utf8proc_propval_t combiningClass(utf8proc_int32_t character) {
  return utf8proc_get_property(character)->combining_class;
}

Result<Characters> decomposed(std::string_view text) {
  Characters characters;
  characters.reserve(text.size() / 2);
  const std::span bytes(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), text.size());
  for (size_t at = 0; at < bytes.size();) {
    utf8proc_int32_t character = 0;
    const utf8proc_ssize_t read =
        utf8proc_iterate(bytes.data() + at, static_cast<utf8proc_ssize_t>(bytes.size() - at), &character);
    if (read <= 0) return internalError(std::string("text cannot be composed: ") + utf8proc_errmsg(read));
    std::array<utf8proc_int32_t, 4> parts{};  // Unicode's most
    int lastClass = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(character, parts.data(), parts.size(), kForm, &lastClass);
    if (count < 0 || count > std::ssize(parts)) return internalError("a character cannot be decomposed");
    characters.insert(characters.end(), parts.begin(), parts.begin() + count);
    at += static_cast<size_t>(read);
  }
  return characters;
}

/// A combining mark; they compare as Unicode's canonical order has them: by class, those of one class as they stand.
struct Mark {
  utf8proc_propval_t order;
  size_t place;
  utf8proc_int32_t character;
  auto operator<=>(const Mark&) const = default;
};

/// utf8proc's own order swaps neighbours, which takes quadratic time for a long run of marks.
void orderMarks(std::span<utf8proc_int32_t> characters) {
  std::vector<Mark> run;
  for (size_t at = 0; at <= characters.size(); ++at) {
    const utf8proc_propval_t order = at < characters.size() ? combiningClass(characters[at]) : 0;
    if (order != 0) {
      run.push_back({order, at, characters[at]});
      continue;
    }
    std::ranges::sort(run);
    for (size_t i = 0; i < run.size(); ++i) characters[at - run.size() + i] = run[i].character;
    run.clear();
  }
}

Status appendComposed(std::string_view text, std::string& out) {
  FIRN_ASSIGN_OR_RETURN(Characters characters, decomposed(text));
  orderMarks(characters);
  const utf8proc_ssize_t count =
      utf8proc_normalize_utf32(characters.data(), static_cast<utf8proc_ssize_t>(characters.size()), kForm);
  if (count < 0) return internalError(std::string("text cannot be composed: ") + utf8proc_errmsg(count));
  for (const utf8proc_int32_t character : std::span(characters).first(static_cast<size_t>(count))) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const utf8proc_ssize_t size = utf8proc_encode_char(character, bytes.data());
    out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(size));
  }
  return Status::ok();
}

}  // namespace

Result<std::string> composed(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t done = 0; done < text.size();) {
    const size_t other = findKind(text, done, false);
    // No character composes with an ASCII one behind it, but a mark with the one before it.
    const size_t begin = other == text.size() || other == done ? other : other - 1;
    out.append(text, done, begin - done);
    done = findKind(text, other, true);
    if (begin < done) FIRN_RETURN_IF_ERROR(appendComposed(text.substr(begin, done - begin), out));
  }
  return out;
}

}  // namespace firn::genai
