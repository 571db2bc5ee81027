#include "genai/tokenizer/stream_decoder.h"

#include <span>

#include "base/utf8.h"

namespace firn::genai {

std::string Utf8Stream::push(std::string_view bytes) {
  pending_ += bytes;
  std::string out;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const Utf8Span span = firstCharacter(rest);
    if (span.kind == Utf8Kind::kIncomplete) break;
    if (span.kind == Utf8Kind::kValid) {
      out += rest.substr(0, span.bytes);
    } else {
      out += "\xEF\xBF\xBD";
    }
    rest.remove_prefix(span.bytes);
  }
  pending_.erase(0, pending_.size() - rest.size());
  return out;
}

Result<std::string> StreamDecoder::push(int32_t id) {
  FIRN_ASSIGN_OR_RETURN(const std::string bytes, tokenizer_->decode(std::span(&id, 1)));
  return stream_.push(bytes);
}

}  // namespace firn::genai
