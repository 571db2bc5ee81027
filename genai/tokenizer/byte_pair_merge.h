// Merges the bytes of one piece into tokens: the inner loop of byte-level BPE.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "blob/tokenizer_image.h"

namespace firn::genai {

/// Scratch of merges, kept between pieces so that it is allocated once. One thread.
class BytePairMerger {
 public:
  explicit BytePairMerger(const blob::TokenizerImage& image) : image_(image) {}

  /// Appends the tokens of `piece` to `ids`: its bytes, then merged pair by pair, the lowest rank first, the leftmost
  /// first among equals. O(n log n) for n bytes, whatever they are. Bytes without a token are left out first.
  void merge(std::string_view piece, std::vector<int32_t>& ids);

  /// How many bytes were left out so far.
  uint64_t bytesLeftOut() const { return bytesLeftOut_; }

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  /// A node of a doubly linked list in `symbols_`; `id` is kNone once it has been merged into its left neighbour.
  struct Symbol {
    uint32_t id;
    uint32_t previous;
    uint32_t next;
  };
  /// A pair that could be merged when it was pushed; outdated if either symbol has changed since.
  struct Candidate {
    uint32_t rank;
    uint32_t left;  ///< index of the left symbol
    uint32_t leftId;
    uint32_t rightId;
    uint32_t merged;
  };

  void pushPair(uint32_t left);
  void apply(const Candidate& candidate);

  const blob::TokenizerImage& image_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
  uint64_t bytesLeftOut_ = 0;
};

}  // namespace firn::genai
