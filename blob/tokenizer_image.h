// The tokenizer section of a blob: a vocabulary with its hash tables as one position-independent byte image, used as
// mapped. Here: the format, its verifier, read access, and the builder. Not here: splitting or merging text
// (genai/tokenizer), reading model files (compiler/import).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace firn::blob {

/// "FIRNTOK" and a zero, little-endian.
inline constexpr uint64_t kTokenizerMagic = 0x004B4F544E524946ULL;
/// Any other version is refused.
inline constexpr uint32_t kTokenizerVersion = 1;
/// No token, an empty hash slot.
inline constexpr uint32_t kNoToken = 0xFFFFFFFF;
/// Limits that the verifier holds every image to; they bound the work that a hostile image can cause.
inline constexpr uint32_t kMaxTokens = 1U << 24;
inline constexpr uint32_t kMaxSpecialBytes = 512;
inline constexpr uint32_t kMaxMergedBytes = 1024;  ///< of a token that a merge makes
inline constexpr uint32_t kMaxProbe = 256;

/// What a token is; the numbers are those of `tokenizer.ggml.token_type` (GGUF).
enum class TokenType : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      ///< `<|im_end|>`: never made from plain text
  kUserDefined = 4,  ///< a fixed piece that is found before the text is split
  kUnused = 5,
  kByte = 6,
};

/// A yes or no that the source may leave open; then the pre-tokenizer's row decides (genai/tokenizer).
enum class Choice : uint8_t { kUnsaid = 0, kNo = 1, kYes = 2 };

/// Where an array lies in the image: `count` elements from byte `offset`. The tables stand in the order of the header,
/// each at the next multiple of 8, with zeros between; the image ends with the last.
struct TokenizerTable {
  uint32_t offset;
  uint32_t count;
};

/// The image starts with this. Little-endian. Reserved bytes are zero.
struct TokenizerHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t imageBytes;             ///< of the whole image
  std::array<char, 32> modelName;  ///< "gpt2": byte-level BPE; NUL padded
  std::array<char, 32> preName;    ///< pre-tokenizer ("smollm"), NUL padded; empty: the source names none
  uint32_t tokenCount;             ///< V
  uint32_t bosId;                  ///< or kNoToken, as the next three
  uint32_t eosId;
  uint32_t unknownId;
  uint32_t padId;
  Choice addBos;
  Choice addEos;
  Choice addSpacePrefix;
  Choice ignoreMerges;  ///< yes: a piece that is a token is not merged from its bytes
  uint32_t maxProbe;    ///< a lookup reads at most this many slots
  uint32_t reserved0;
  TokenizerTable tokenOffsets;  ///< u32[V + 1] ascending: token i is tokenBytes[offsets[i], offsets[i + 1])
  TokenizerTable tokenBytes;    ///< u8
  TokenizerTable tokenTypes;    ///< TokenType[V]
  TokenizerTable tokenSlots;    ///< u32[2^n]: open addressing by XXH3-64 of the bytes, linear probing
  TokenizerTable mergeSlots;    ///< MergeSlot[2^n]: open addressing by mergeHash, linear probing
  TokenizerTable byteTokens;    ///< u32[256]: the token of each single byte, or kNoToken
  TokenizerTable specials;      ///< u32: ids of control, unknown and user-defined tokens, ascending by bytes
  TokenizerTable endIds;        ///< u32 ascending: generation stops at these
  TokenizerTable controlIds;    ///< u32 ascending: all ids of type kControl
};
static_assert(sizeof(TokenizerHeader) == 184);

/// A merge: the pair (left, right) becomes `merged`; lower ranks go first. Empty: all fields are kNoToken.
struct MergeSlot {
  uint32_t left;
  uint32_t right;
  uint32_t rank;
  uint32_t merged;
};

/// Read access to a verified image. A view: the bytes must outlive it. Cheap to copy; safe from any thread.
class TokenizerImage {
 public:
  /// Verifies every field of `bytes` (base 8-byte aligned) in O(size), about 2 ms for 49152 tokens, and allocates
  /// nothing. Fails with corrupt, version_mismatch, or invalid_argument for another base. No later call can read
  /// outside `bytes` or run without end. Not proved: that the hash tables hold every token and merge, or that a slot
  /// lies where its hash says; what they do not find has no such token.
  static Result<TokenizerImage> open(std::span<const std::byte> bytes);

  uint32_t tokenCount() const { return header_->tokenCount; }
  const TokenizerHeader& header() const { return *header_; }
  std::string_view modelName() const { return header_->modelName.data(); }
  std::string_view preName() const { return header_->preName.data(); }

  /// Raw bytes of token `id`; id < tokenCount().
  std::string_view tokenBytes(uint32_t id) const {
    return {tokenBytes_ + tokenOffsets_[id], tokenOffsets_[id + 1] - tokenOffsets_[id]};
  }
  /// id < tokenCount().
  TokenType tokenType(uint32_t id) const { return tokenTypes_[id]; }
  /// The token with exactly these bytes, of any type; kNoToken if there is none. The lowest id of duplicates.
  uint32_t findToken(std::string_view bytes) const;
  /// The token of one byte, or kNoToken: vocabularies may lack bytes that never occur in UTF-8.
  uint32_t byteToken(uint8_t byte) const { return byteTokens_[byte]; }
  /// The merge of the pair, or nullptr.
  const MergeSlot* findMerge(uint32_t left, uint32_t right) const;

  std::span<const uint32_t> specials() const { return specials_; }
  std::span<const uint32_t> endIds() const { return endIds_; }
  std::span<const uint32_t> controlIds() const { return controlIds_; }
  /// Binary search in endIds().
  bool isEndId(uint32_t id) const;

 private:
  TokenizerImage() = default;

  const TokenizerHeader* header_ = nullptr;
  const uint32_t* tokenOffsets_ = nullptr;
  const char* tokenBytes_ = nullptr;
  const TokenType* tokenTypes_ = nullptr;
  const uint32_t* byteTokens_ = nullptr;
  std::span<const uint32_t> tokenSlots_;
  std::span<const MergeSlot> mergeSlots_;
  std::span<const uint32_t> specials_;
  std::span<const uint32_t> endIds_;
  std::span<const uint32_t> controlIds_;
};

/// What a builder is given, as GGUF stores it. Views: the strings must live until buildTokenizerImage returns.
struct TokenizerData {
  std::string model = "gpt2";            ///< tokenizer.ggml.model; others than "gpt2" are unsupported
  std::string pre;                       ///< tokenizer.ggml.pre; empty: not said
  std::vector<std::string_view> tokens;  ///< normal ones in GPT-2's byte alphabet ("Ġthe"), others as plain text
  std::vector<int32_t> types;            ///< TokenType of each token; empty: all kNormal
  std::vector<std::string_view> merges;  ///< "left right" in GPT-2's byte alphabet, best first
  Choice addBos = Choice::kUnsaid;
  Choice addEos = Choice::kUnsaid;
  Choice addSpacePrefix = Choice::kUnsaid;
  Choice ignoreMerges = Choice::kUnsaid;
  std::optional<uint32_t> bosId;
  std::optional<uint32_t> eosId;
  std::optional<uint32_t> unknownId;
  std::optional<uint32_t> padId;
  /// More ids to stop at (eot and eom keys, generation_config). eosId and control tokens whose text is a known end of
  /// turn (`<|im_end|>`, `<|eot_id|>`, `<end_of_turn>`, ...) are added by the builder.
  std::vector<uint32_t> endIds;
};

/// Builds the image; the same data gives the same bytes. Fails with unsupported (model), corrupt (a merge of an unknown
/// token, a bad type, an id >= V), resource_exhausted (over the limits above). A normal token with characters outside
/// the byte alphabet is taken as plain text. Of tokens with equal bytes the lowest id is found; of equal merges the
/// first counts. A merge that would make a control token is left out, so plain text can never become one.
Result<std::vector<std::byte>> buildTokenizerImage(const TokenizerData& data);

/// The hash of a merge pair in mergeSlots.
uint64_t mergeHash(uint32_t left, uint32_t right);

}  // namespace firn::blob
