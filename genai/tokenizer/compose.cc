#include "genai/tokenizer/compose.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

namespace firn::genai {
namespace {

struct Free {
  void operator()(utf8proc_uint8_t* bytes) const { std::free(bytes); }
};

bool isAscii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }

/// Where the next ASCII character, or the next other one, is.
size_t findKind(std::string_view text, size_t from, bool ascii) {
  while (from < text.size() && isAscii(text[from]) != ascii) ++from;
  return from;
}

Status appendComposed(std::string_view text, std::string& out) {
  utf8proc_uint8_t* bytes = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &bytes, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, Free> owner(bytes);
  if (size == UTF8PROC_ERROR_NOMEM || size == UTF8PROC_ERROR_OVERFLOW) {
    return resourceExhausted("no memory to compose " + std::to_string(text.size()) + " bytes of text");
  }
  if (size < 0) return internalError(std::string("text cannot be composed: ") + utf8proc_errmsg(size));
  out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
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
