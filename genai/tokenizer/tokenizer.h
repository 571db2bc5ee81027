// Text to token ids and back for byte-level BPE, over a mapped tokenizer image (blob/tokenizer_image.h).
// Not here: reading model files, chat templates, streaming output (stream_decoder.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "blob/tokenizer_image.h"

namespace firn::genai {

/// How encode() reads its text.
struct EncodeOptions {
  /// true: control tokens in the text (`<|im_end|>`) become their ids; false: they are plain text. User-defined tokens
  /// are found either way.
  bool parseSpecial = true;
  /// true: begin and end tokens are added where the model asks for them. A text that already begins with the begin
  /// token gets no second one.
  bool addBosEos = true;
};

/// A tokenizer over an image that must outlive it. Immutable: any thread may use it at any time.
///
/// Method: text is cut at special tokens (leftmost, then longest), then by the pre-tokenizer's regular expressions, and
/// each piece is merged pair by pair, lowest rank first, leftmost first among equals (Sennrich et al. 2016, on bytes as
/// in GPT-2). The ids are those of Hugging Face tokenizers for the same vocabulary.
///
/// Qwen2's rule composes characters first (Unicode's NFC), so that decode() gives the composed text.
///
/// Text need not be UTF-8: every byte that is no part of a valid character is a piece of its own. A byte that the
/// vocabulary has no token for is left out, as in Hugging Face tokenizers; SmolLM2 lacks six control characters
/// and the lead bytes 0xF1 and 0xF2, besides 0xC0, 0xC1 and 0xF5 to 0xFF, which no UTF-8 has.
class Tokenizer {
 public:
  /// Verifies the image and compiles the pre-tokenizer. Fails with corrupt or version_mismatch (the image) and
  /// unsupported (a pre-tokenizer that firn does not know; the message lists the known ones).
  static Result<Tokenizer> open(std::span<const std::byte> image);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// The ids of `text`, O(n log n) in its bytes for any text; NUL is a byte like any other. An empty text has no
  /// tokens but those that the model always adds. Fails with resource_exhausted for texts over 2 GiB and for one with
  /// more than 16 MiB that no rule splits. `bytesLeftOut`, unless null, gets how many bytes of `text` (composed, where
  /// the model does that) are left out because the vocabulary has no token for them.
  Result<std::vector<int32_t>> encode(std::string_view text, const EncodeOptions& options = {},
                                      uint64_t* bytesLeftOut = nullptr) const;

  /// The bytes of the tokens, joined; control tokens are left out if `skipSpecial`. May be no valid UTF-8, since a
  /// token may be part of a character. Fails with out_of_range for an id that is no token.
  Result<std::string> decode(std::span<const int32_t> ids, bool skipSpecial = true) const;

  const blob::TokenizerImage& image() const;
  /// True if generation stops at `id`.
  bool isEndId(int32_t id) const;

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace firn::genai
