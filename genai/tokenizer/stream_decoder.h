// Token ids to text while they are being generated: whole characters only, nothing is ever taken back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "genai/tokenizer/tokenizer.h"

namespace firn::genai {

/// Cuts a stream of bytes into valid UTF-8. Bytes of an unfinished character are held back; bytes that can no longer
/// become a character are replaced by U+FFFD, one for each maximal part (Unicode 15, table 3-8), as soon as that is
/// certain. The pieces, joined, depend on the bytes only, not on how they were split.
class Utf8Stream {
 public:
  /// Takes `bytes`, returns the text that became certain; maybe empty, always valid UTF-8.
  std::string push(std::string_view bytes);
  /// Bytes held back: fewer than 4.
  std::string_view pending() const { return pending_; }
  /// Drops them.
  void reset() { pending_.clear(); }

 private:
  std::string pending_;
};

/// Feeds the bytes of tokens through a Utf8Stream. Control tokens are left out. One stream of one thread; the
/// tokenizer must outlive it.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// The text that `id` completes. Fails with out_of_range for an id that is no token.
  Result<std::string> push(int32_t id);

 private:
  const Tokenizer* tokenizer_;
  Utf8Stream stream_;
};

}  // namespace firn::genai
