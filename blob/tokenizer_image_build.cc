// Builds tokenizer images; the format is in tokenizer_image.h.
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/align.h"
#include "base/quote.h"
#include "blob/tokenizer_image.h"

namespace firn::blob {
namespace {

/// Texts of control tokens that end a turn or a document, whatever the model's eos key says. From the public
/// tokenizer and generation configurations of ChatML models, Llama 3, Gemma, Phi 3 and GPT-2.
constexpr std::string_view kEndTexts[] = {"<|im_end|>", "<|eot_id|>",      "<|eom_id|>",   "<end_of_turn>",
                                          "<|end|>",    "<|end_of_text|>", "<|endoftext|>"};

/// GPT-2 writes each byte as one printable character: 0x21-0x7E, 0xA1-0xAC and 0xAE-0xFF as themselves, the other 68
/// bytes in ascending order as U+0100, U+0101, ... (bytes_to_unicode of the GPT-2 release, 2019).
std::array<int16_t, 0x144> byteAlphabet() {
  std::array<int16_t, 0x144> byteOf{};
  byteOf.fill(-1);
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    byteOf[printable ? byte : next++] = static_cast<int16_t>(byte);
  }
  return byteOf;
}

/// Appends the bytes that `text` stands for; false if it holds a character outside the alphabet.
bool appendDecoded(std::string_view text, std::string& out) {
  static const std::array<int16_t, 0x144> kByteOf = byteAlphabet();
  for (size_t i = 0; i < text.size(); ++i) {
    // Every character of the alphabet is one or two bytes of UTF-8.
    unsigned codePoint = static_cast<uint8_t>(text[i]);
    if (codePoint >= 0x80) {
      if (codePoint < 0xC2 || codePoint > 0xDF || i + 1 >= text.size()) return false;
      const unsigned tail = static_cast<uint8_t>(text[++i]);
      if ((tail & 0xC0) != 0x80) return false;
      codePoint = (codePoint & 0x1F) << 6 | (tail & 0x3F);
    }
    if (codePoint >= kByteOf.size() || kByteOf[codePoint] < 0) return false;
    out.push_back(static_cast<char>(kByteOf[codePoint]));
  }
  return true;
}

class Builder {
 public:
  explicit Builder(const TokenizerData& data) : data_(data) {}

  Result<std::vector<std::byte>> build() {
    FIRN_RETURN_IF_ERROR(readHeader());
    FIRN_RETURN_IF_ERROR(readTokens());
    FIRN_RETURN_IF_ERROR(readMerges());
    FIRN_RETURN_IF_ERROR(hashTokens());
    FIRN_RETURN_IF_ERROR(hashMerges());
    FIRN_RETURN_IF_ERROR(collectLists());
    return layOut();
  }

 private:
  std::string_view bytesOf(uint32_t id) const {
    return std::string_view(tokenBytes_).substr(offsets_[id], offsets_[id + 1] - offsets_[id]);
  }

  Status readHeader() {
    if (data_.model != "gpt2") {
      return unsupported("unsupported tokenizer " + quoted(data_.model) + "; firn knows gpt2 (byte-level BPE)");
    }
    if (data_.tokens.empty() || data_.tokens.size() > kMaxTokens) {
      return corrupt("tokenizer.ggml.tokens: " + std::to_string(data_.tokens.size()) + " tokens, expected 1 to " +
                     std::to_string(kMaxTokens));
    }
    if (!data_.types.empty() && data_.types.size() != data_.tokens.size()) {
      return corrupt("tokenizer.ggml.token_type: " + std::to_string(data_.types.size()) + " types of " +
                     std::to_string(data_.tokens.size()) + " tokens");
    }
    const bool printable = std::all_of(data_.pre.begin(), data_.pre.end(), [](char c) { return c > ' ' && c < 0x7F; });
    if (data_.pre.size() >= header_.preName.size() || !printable) {
      return unsupported("tokenizer.ggml.pre: " + quoted(data_.pre) + " is no name of up to 31 ASCII characters");
    }
    header_.magic = kTokenizerMagic;
    header_.version = kTokenizerVersion;
    std::copy(data_.model.begin(), data_.model.end(), header_.modelName.begin());
    std::copy(data_.pre.begin(), data_.pre.end(), header_.preName.begin());
    header_.tokenCount = static_cast<uint32_t>(data_.tokens.size());
    header_.addBos = data_.addBos;
    header_.addEos = data_.addEos;
    header_.addSpacePrefix = data_.addSpacePrefix;
    header_.ignoreMerges = data_.ignoreMerges;
    FIRN_RETURN_IF_ERROR(readId(data_.bosId, "tokenizer.ggml.bos_token_id", header_.bosId));
    FIRN_RETURN_IF_ERROR(readId(data_.eosId, "tokenizer.ggml.eos_token_id", header_.eosId));
    FIRN_RETURN_IF_ERROR(readId(data_.unknownId, "tokenizer.ggml.unknown_token_id", header_.unknownId));
    return readId(data_.padId, "tokenizer.ggml.padding_token_id", header_.padId);
  }

  Status readId(std::optional<uint32_t> id, const char* key, uint32_t& out) const {
    out = id.value_or(kNoToken);
    if (id && *id >= header_.tokenCount) {
      return corrupt(std::string(key) + ": id " + std::to_string(*id) + " of " + std::to_string(header_.tokenCount) +
                     " tokens");
    }
    return Status::ok();
  }

  Status readTokens() {
    offsets_.reserve(data_.tokens.size() + 1);
    offsets_.push_back(0);
    for (size_t id = 0; id < data_.tokens.size(); ++id) {
      const int32_t type = data_.types.empty() ? static_cast<int32_t>(TokenType::kNormal) : data_.types[id];
      if (type < static_cast<int32_t>(TokenType::kNormal) || type > static_cast<int32_t>(TokenType::kByte)) {
        return corrupt("tokenizer.ggml.token_type: token " + std::to_string(id) + " has type " + std::to_string(type) +
                       ", expected 1 to 6");
      }
      types_.push_back(static_cast<TokenType>(type));
      const std::string_view text = data_.tokens[id];
      if (types_.back() != TokenType::kNormal) {
        tokenBytes_ += text;
      } else if (const size_t before = tokenBytes_.size(); !appendDecoded(text, tokenBytes_)) {
        // An added token that an older converter marked as normal: plain text.
        tokenBytes_.resize(before);
        tokenBytes_ += text;
      }
      if (tokenBytes_.size() > kMaxTextBytes) return resourceExhausted("tokenizer.ggml.tokens: more than 1 GiB");
      offsets_.push_back(static_cast<uint32_t>(tokenBytes_.size()));
    }
    idOf_.reserve(data_.tokens.size());
    for (uint32_t id = 0; id < header_.tokenCount; ++id) idOf_.try_emplace(bytesOf(id), id);
    byteTokens_.fill(kNoToken);
    for (uint32_t id = 0; id < header_.tokenCount; ++id) {
      const std::string_view bytes = bytesOf(id);
      // A control token is no spelling of a byte: plain text must not become one.
      if (bytes.size() != 1 || types_[id] == TokenType::kControl || types_[id] == TokenType::kUnused) continue;
      uint32_t& slot = byteTokens_[static_cast<uint8_t>(bytes[0])];
      if (slot == kNoToken) slot = id;
    }
    return Status::ok();
  }

  /// The id of one half of a merge.
  Result<uint32_t> mergeId(size_t rank, std::string_view text) const {
    std::string bytes;
    if (appendDecoded(text, bytes)) {
      if (const auto found = idOf_.find(bytes); found != idOf_.end() && !bytes.empty()) return found->second;
    }
    return corrupt("tokenizer.ggml.merges: merge " + std::to_string(rank) + " " + quoted(data_.merges[rank]) +
                   " needs " + quoted(text) + ", which is no token");
  }

  Status readMerges() {
    merges_.reserve(data_.merges.size());
    for (size_t rank = 0; rank < data_.merges.size(); ++rank) {
      const std::string_view text = data_.merges[rank];
      // The alphabet has no space: exactly one separates the halves.
      const size_t space = text.find(' ');
      if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
        return corrupt("tokenizer.ggml.merges: merge " + std::to_string(rank) + " " + quoted(text) +
                       " is not two tokens with one space between");
      }
      FIRN_ASSIGN_OR_RETURN(const uint32_t left, mergeId(rank, text.substr(0, space)));
      FIRN_ASSIGN_OR_RETURN(const uint32_t right, mergeId(rank, text.substr(space + 1)));
      std::string joined(text.substr(0, space));
      joined += text.substr(space + 1);
      FIRN_ASSIGN_OR_RETURN(const uint32_t merged, mergeId(rank, joined));
      if (types_[merged] == TokenType::kControl) continue;
      if (bytesOf(merged).size() > kMaxMergedBytes) {
        return resourceExhausted("tokenizer.ggml.merges: merge " + std::to_string(rank) + " makes a token of " +
                                 std::to_string(bytesOf(merged).size()) + " bytes, at most " +
                                 std::to_string(kMaxMergedBytes) + " are supported");
      }
      merges_.push_back({left, right, static_cast<uint32_t>(rank), merged});
    }
    keepFirstMerges();
    return Status::ok();
  }

  /// Of merges of the same pair the first counts, so that the table grows with what it holds.
  void keepFirstMerges() {
    const auto pairOf = [](const MergeSlot& merge) { return std::pair(merge.left, merge.right); };
    std::ranges::sort(merges_, {},
                      [](const MergeSlot& merge) { return std::tuple(merge.left, merge.right, merge.rank); });
    const auto repeated = std::ranges::unique(merges_, {}, pairOf);
    merges_.erase(repeated.begin(), repeated.end());
    std::ranges::sort(merges_, {}, &MergeSlot::rank);
  }

  /// Puts `count` items into a table of at least twice as many slots. `place(item, table, mask)` returns how many
  /// slots it had to read.
  template <typename Slot, typename Place>
  Status hashInto(std::vector<Slot>& table, Slot empty, size_t count, Place place) {
    // A second and third doubling give clustered hashes another chance; what still collides was made to.
    for (size_t slots = std::bit_ceil(std::max<size_t>(2 * count, 2)), tries = 0; tries < 3; slots *= 2, ++tries) {
      table.assign(slots, empty);
      uint32_t longest = 1;
      for (size_t item = 0; item < count && longest <= kMaxProbe; ++item) {
        longest = std::max(longest, place(item, table, slots - 1));
      }
      if (longest <= kMaxProbe) {
        header_.maxProbe = std::max(header_.maxProbe, longest);
        return Status::ok();
      }
    }
    return resourceExhausted("tokenizer: too many tokens or merges share one hash value");
  }

  Status hashTokens() {
    return hashInto(tokenSlots_, kNoToken, header_.tokenCount,
                    [this](size_t id, std::vector<uint32_t>& table, size_t mask) {
                      const std::string_view bytes = bytesOf(static_cast<uint32_t>(id));
                      size_t slot = XXH3_64bits(bytes.data(), bytes.size()) & mask;
                      uint32_t probes = 1;
                      for (; table[slot] != kNoToken && probes <= kMaxProbe; slot = (slot + 1) & mask, ++probes) {
                        if (bytesOf(table[slot]) == bytes) return probes;
                      }
                      if (probes <= kMaxProbe) table[slot] = static_cast<uint32_t>(id);
                      return probes;
                    });
  }

  Status hashMerges() {
    const MergeSlot empty{kNoToken, kNoToken, kNoToken, kNoToken};
    return hashInto(mergeSlots_, empty, merges_.size(),
                    [this](size_t index, std::vector<MergeSlot>& table, size_t mask) {
                      const MergeSlot& merge = merges_[index];
                      size_t slot = mergeHash(merge.left, merge.right) & mask;
                      uint32_t probes = 1;
                      for (; table[slot].left != kNoToken && probes <= kMaxProbe; slot = (slot + 1) & mask, ++probes) {
                        if (table[slot].left == merge.left && table[slot].right == merge.right) return probes;
                      }
                      if (probes <= kMaxProbe) table[slot] = merge;
                      return probes;
                    });
  }

  Status collectLists() {
    for (uint32_t id = 0; id < header_.tokenCount; ++id) {
      const TokenType type = types_[id];
      const std::string_view bytes = bytesOf(id);
      if (type == TokenType::kControl) controlIds_.push_back(id);
      if (type != TokenType::kControl && type != TokenType::kUserDefined && type != TokenType::kUnknown) continue;
      if (bytes.empty()) continue;
      if (bytes.size() > kMaxSpecialBytes) {
        return resourceExhausted("tokenizer.ggml.tokens: special token " + std::to_string(id) + " " + quoted(bytes) +
                                 " has " + std::to_string(bytes.size()) + " bytes, at most " +
                                 std::to_string(kMaxSpecialBytes) + " are supported");
      }
      specials_.push_back(id);
    }
    // The lowest id of equal texts comes first and stays.
    std::sort(specials_.begin(), specials_.end(),
              [this](uint32_t a, uint32_t b) { return std::pair(bytesOf(a), a) < std::pair(bytesOf(b), b); });
    specials_.erase(std::unique(specials_.begin(), specials_.end(),
                                [this](uint32_t a, uint32_t b) { return bytesOf(a) == bytesOf(b); }),
                    specials_.end());
    endIds_ = data_.endIds;
    if (header_.eosId != kNoToken) endIds_.push_back(header_.eosId);
    for (const std::string_view text : kEndTexts) {
      const auto found = idOf_.find(text);
      if (found != idOf_.end() && types_[found->second] == TokenType::kControl) endIds_.push_back(found->second);
    }
    std::sort(endIds_.begin(), endIds_.end());
    endIds_.erase(std::unique(endIds_.begin(), endIds_.end()), endIds_.end());
    if (!endIds_.empty() && endIds_.back() >= header_.tokenCount) {
      return corrupt("tokenizer: end id " + std::to_string(endIds_.back()) + " of " +
                     std::to_string(header_.tokenCount) + " tokens");
    }
    return Status::ok();
  }

  template <typename Container>
  void append(const Container& items, TokenizerTable& table) {
    out_.resize(roundUp(out_.size(), 8));
    const auto bytes = std::as_bytes(std::span(items));
    table = {static_cast<uint32_t>(out_.size()), static_cast<uint32_t>(items.size())};
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }

  Result<std::vector<std::byte>> layOut() {
    const uint64_t most = sizeof(TokenizerHeader) + tokenBytes_.size() + 4 * offsets_.size() + types_.size() +
                          4 * tokenSlots_.size() + sizeof(MergeSlot) * mergeSlots_.size() + 4 * 256 +
                          4 * (specials_.size() + endIds_.size() + controlIds_.size()) + 9 * 8;
    if (most > UINT32_MAX) return resourceExhausted("tokenizer: the image would have 4 GiB or more");
    out_.reserve(most);
    out_.resize(sizeof(TokenizerHeader));
    append(offsets_, header_.tokenOffsets);
    append(tokenBytes_, header_.tokenBytes);
    append(types_, header_.tokenTypes);
    append(tokenSlots_, header_.tokenSlots);
    append(mergeSlots_, header_.mergeSlots);
    append(byteTokens_, header_.byteTokens);
    append(specials_, header_.specials);
    append(endIds_, header_.endIds);
    append(controlIds_, header_.controlIds);
    header_.imageBytes = static_cast<uint32_t>(out_.size());
    std::memcpy(out_.data(), &header_, sizeof(header_));
    return std::move(out_);
  }

  static constexpr size_t kMaxTextBytes = size_t{1} << 30;

  const TokenizerData& data_;
  TokenizerHeader header_{};
  std::string tokenBytes_;
  std::vector<uint32_t> offsets_;
  std::vector<TokenType> types_;
  std::unordered_map<std::string_view, uint32_t> idOf_;
  std::array<uint32_t, 256> byteTokens_{};
  std::vector<MergeSlot> merges_;
  std::vector<uint32_t> tokenSlots_;
  std::vector<MergeSlot> mergeSlots_;
  std::vector<uint32_t> specials_;
  std::vector<uint32_t> endIds_;
  std::vector<uint32_t> controlIds_;
  std::vector<std::byte> out_;
};

}  // namespace

Result<std::vector<std::byte>> buildTokenizerImage(const TokenizerData& data) { return Builder(data).build(); }

}  // namespace firn::blob
