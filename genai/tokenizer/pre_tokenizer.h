// Splits text into the pieces that byte pairs are merged in: one row of regular expressions per pre-tokenizer name.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "blob/split_rule.h"

namespace firn::genai {

/// What a pre-tokenizer's name stands for. Regular expressions run in order, each over the pieces of the one before:
/// every match is a piece, and so is the text between two matches.
struct PreTokenizerRow {
  blob::SplitRule rule;
  std::vector<std::string_view> patterns;  ///< PCRE2, UTF and UCP
  bool composes;                           ///< characters first, as Unicode's form NFC does (compose.h)
  bool ignoreMerges;                       ///< used where the image leaves it open
  bool addBos;                             ///< likewise
};

/// The row of `name` (an empty name is GPT-2's), or unsupported with the list of known names.
Result<const PreTokenizerRow*> findPreTokenizer(std::string_view name);

/// Compiled expressions of a row. Immutable; any thread.
class PreTokenizer {
 public:
  /// Fails with internal if an expression does not compile.
  static Result<PreTokenizer> make(const PreTokenizerRow& row);

  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  /// Calls `visit` with each piece of `text` (valid UTF-8), in order; joined they are `text`. Linear in the text, no
  /// memory that grows with it. Fails with resource_exhausted if the matcher gives up.
  Status split(std::string_view text, const std::function<void(std::string_view piece)>& visit) const;

 private:
  struct Pattern;
  struct Call;
  using Visitor = std::function<void(std::string_view piece)>;
  explicit PreTokenizer(std::vector<Pattern> patterns);
  Status splitFrom(size_t pattern, std::string_view text, const Call& call) const;
  std::vector<Pattern> patterns_;
};

}  // namespace firn::genai
