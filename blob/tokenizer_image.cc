#include "blob/tokenizer_image.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace firn::blob {
namespace {

/// Checks that a table lies inside the image, after the header, and is aligned.
Status checkTable(const TokenizerTable& table, uint64_t elementBytes, uint64_t imageBytes, const char* name) {
  const uint64_t end = uint64_t{table.offset} + uint64_t{table.count} * elementBytes;
  if (table.offset < sizeof(TokenizerHeader) || table.offset % 8 != 0 || end > imageBytes) {
    return corrupt("tokenizer image: table " + std::string(name) + " takes bytes " + std::to_string(table.offset) +
                   " to " + std::to_string(end) + " of " + std::to_string(imageBytes) +
                   ", or does not start at a multiple of 8 after the header");
  }
  return Status::ok();
}

Status checkCount(const TokenizerTable& table, uint64_t expected, const char* name) {
  if (table.count == expected) return Status::ok();
  return corrupt("tokenizer image: table " + std::string(name) + " has " + std::to_string(table.count) +
                 " elements, expected " + std::to_string(expected));
}

Status checkName(const std::array<char, 32>& name, const char* field) {
  const auto* end = std::find(name.begin(), name.end(), '\0');
  const bool printable = std::all_of(name.begin(), end, [](char c) { return c > ' ' && c < 0x7F; });
  if (end == name.end() || !printable || std::any_of(end, name.end(), [](char c) { return c != '\0'; })) {
    return corrupt("tokenizer image: " + std::string(field) + " is no NUL-padded name of printable ASCII");
  }
  return Status::ok();
}

Status checkHeader(const TokenizerHeader& header, uint64_t imageBytes) {
  if (header.magic != kTokenizerMagic) return corrupt("tokenizer image: does not start with FIRNTOK");
  if (header.version != kTokenizerVersion) {
    return versionMismatch("tokenizer image: version " + std::to_string(header.version) + ", this program reads " +
                           std::to_string(kTokenizerVersion) + "; compile the model again");
  }
  if (header.imageBytes != imageBytes) {
    return corrupt("tokenizer image: says " + std::to_string(header.imageBytes) + " bytes, has " +
                   std::to_string(imageBytes));
  }
  FIRN_RETURN_IF_ERROR(checkName(header.modelName, "model name"));
  FIRN_RETURN_IF_ERROR(checkName(header.preName, "pre-tokenizer name"));
  if (header.tokenCount == 0 || header.tokenCount > kMaxTokens) {
    return corrupt("tokenizer image: " + std::to_string(header.tokenCount) + " tokens, expected 1 to " +
                   std::to_string(kMaxTokens));
  }
  for (const uint32_t id : {header.bosId, header.eosId, header.unknownId, header.padId}) {
    if (id != kNoToken && id >= header.tokenCount) {
      return corrupt("tokenizer image: bos, eos, unknown or pad id " + std::to_string(id) + " of " +
                     std::to_string(header.tokenCount) + " tokens");
    }
  }
  for (const Choice choice : {header.addBos, header.addEos, header.addSpacePrefix, header.ignoreMerges}) {
    if (static_cast<uint8_t>(choice) > static_cast<uint8_t>(Choice::kYes)) {
      return corrupt("tokenizer image: a choice is neither unsaid, no nor yes");
    }
  }
  if (header.maxProbe == 0 || header.maxProbe > kMaxProbe || header.reserved0 != 0) {
    return corrupt("tokenizer image: probe length " + std::to_string(header.maxProbe) + ", expected 1 to " +
                   std::to_string(kMaxProbe) + ", or reserved bytes are not zero");
  }
  return Status::ok();
}

Status checkTables(const TokenizerHeader& header) {
  const uint64_t bytes = header.imageBytes;
  const uint64_t count = header.tokenCount;
  FIRN_RETURN_IF_ERROR(checkTable(header.tokenOffsets, 4, bytes, "token offsets"));
  FIRN_RETURN_IF_ERROR(checkTable(header.tokenBytes, 1, bytes, "token bytes"));
  FIRN_RETURN_IF_ERROR(checkTable(header.tokenTypes, 1, bytes, "token types"));
  FIRN_RETURN_IF_ERROR(checkTable(header.tokenSlots, 4, bytes, "token slots"));
  FIRN_RETURN_IF_ERROR(checkTable(header.mergeSlots, sizeof(MergeSlot), bytes, "merge slots"));
  FIRN_RETURN_IF_ERROR(checkTable(header.byteTokens, 4, bytes, "byte tokens"));
  FIRN_RETURN_IF_ERROR(checkTable(header.specials, 4, bytes, "special tokens"));
  FIRN_RETURN_IF_ERROR(checkTable(header.endIds, 4, bytes, "end ids"));
  FIRN_RETURN_IF_ERROR(checkTable(header.controlIds, 4, bytes, "control ids"));
  FIRN_RETURN_IF_ERROR(checkCount(header.tokenOffsets, count + 1, "token offsets"));
  FIRN_RETURN_IF_ERROR(checkCount(header.tokenTypes, count, "token types"));
  FIRN_RETURN_IF_ERROR(checkCount(header.byteTokens, 256, "byte tokens"));
  if (!std::has_single_bit(header.tokenSlots.count) || !std::has_single_bit(header.mergeSlots.count)) {
    return corrupt("tokenizer image: a hash table's size is no power of two");
  }
  return Status::ok();
}

Status checkIds(std::span<const uint32_t> ids, uint32_t tokenCount, const char* name) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= tokenCount || (i > 0 && ids[i] <= ids[i - 1])) {
      return corrupt("tokenizer image: " + std::string(name) + "[" + std::to_string(i) + "] is " +
                     std::to_string(ids[i]) + ": not ascending, or not below " + std::to_string(tokenCount));
    }
  }
  return Status::ok();
}

Status checkTokens(const TokenizerImage& image, std::span<const uint32_t> offsets) {
  const TokenizerHeader& header = image.header();
  if (offsets.front() != 0 || offsets.back() != header.tokenBytes.count) {
    return corrupt("tokenizer image: token offsets do not cover the token bytes");
  }
  for (uint32_t id = 0; id < header.tokenCount; ++id) {
    if (offsets[id + 1] < offsets[id]) {
      return corrupt("tokenizer image: the offsets of token " + std::to_string(id) + " go backwards");
    }
    const auto type = static_cast<uint8_t>(image.tokenType(id));
    if (type < static_cast<uint8_t>(TokenType::kNormal) || type > static_cast<uint8_t>(TokenType::kByte)) {
      return corrupt("tokenizer image: token " + std::to_string(id) + " has type " + std::to_string(type) +
                     ", expected 1 to 6");
    }
  }
  return Status::ok();
}

Status checkByteTokens(const TokenizerImage& image) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint32_t id = image.byteToken(static_cast<uint8_t>(byte));
    if (id == kNoToken) continue;
    if (id >= image.tokenCount() || image.tokenBytes(id) != std::string_view{std::string(1, static_cast<char>(byte))}) {
      return corrupt("tokenizer image: the token of byte " + std::to_string(byte) + " is " + std::to_string(id) +
                     ", which is another text or no token");
    }
  }
  return Status::ok();
}

Status checkMerge(const TokenizerImage& image, const MergeSlot& slot) {
  const uint32_t count = image.tokenCount();
  if (slot.right >= count || slot.left >= count || slot.merged >= count) {
    return corrupt("tokenizer image: a merge of (" + std::to_string(slot.left) + ", " + std::to_string(slot.right) +
                   ") to " + std::to_string(slot.merged) + " of " + std::to_string(count) + " tokens");
  }
  const std::string_view left = image.tokenBytes(slot.left);
  const std::string_view right = image.tokenBytes(slot.right);
  const std::string_view merged = image.tokenBytes(slot.merged);
  if (merged.size() > kMaxMergedBytes) {
    return corrupt("tokenizer image: token " + std::to_string(slot.merged) + " is made by a merge and has " +
                   std::to_string(merged.size()) + " bytes, expected at most " + std::to_string(kMaxMergedBytes));
  }
  if (left.empty() || right.empty() || merged.size() != left.size() + right.size() || !merged.starts_with(left) ||
      !merged.ends_with(right)) {
    return corrupt("tokenizer image: token " + std::to_string(slot.merged) + " is not token " +
                   std::to_string(slot.left) + " followed by token " + std::to_string(slot.right));
  }
  return Status::ok();
}

Status checkSpecials(const TokenizerImage& image) {
  std::string_view previous;
  for (const uint32_t id : image.specials()) {
    if (id >= image.tokenCount()) {
      return corrupt("tokenizer image: special token " + std::to_string(id) + " of " +
                     std::to_string(image.tokenCount()) + " tokens");
    }
    const TokenType type = image.tokenType(id);
    const bool special = type == TokenType::kControl || type == TokenType::kUserDefined || type == TokenType::kUnknown;
    const std::string_view bytes = image.tokenBytes(id);
    if (!special || bytes.size() > kMaxSpecialBytes || bytes <= previous) {
      return corrupt("tokenizer image: special token " + std::to_string(id) +
                     " is an ordinary one, too long, empty or out of order");
    }
    previous = bytes;
  }
  return Status::ok();
}

template <typename T>
const T* at(std::span<const std::byte> bytes, const TokenizerTable& table) {
  return reinterpret_cast<const T*>(bytes.data() + table.offset);
}

template <typename T>
std::span<const T> spanAt(std::span<const std::byte> bytes, const TokenizerTable& table) {
  return {at<T>(bytes, table), table.count};
}

}  // namespace

uint64_t mergeHash(uint32_t left, uint32_t right) {
  // The finalizer of splitmix64 (Steele, Lea, Flood 2014): every input bit reaches the low bits that index the table.
  uint64_t x = uint64_t{left} << 32 | right;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

Result<TokenizerImage> TokenizerImage::open(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(TokenizerHeader) || bytes.size() > UINT32_MAX) {
    return corrupt("tokenizer image: " + std::to_string(bytes.size()) + " bytes, expected at least " +
                   std::to_string(sizeof(TokenizerHeader)) + " and less than 4 GiB");
  }
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0) {
    return invalidArgument("tokenizer image: is not at an address that is a multiple of 8");
  }
  TokenizerImage image;
  image.header_ = reinterpret_cast<const TokenizerHeader*>(bytes.data());
  const TokenizerHeader& header = *image.header_;
  FIRN_RETURN_IF_ERROR(checkHeader(header, bytes.size()));
  FIRN_RETURN_IF_ERROR(checkTables(header));
  image.tokenOffsets_ = at<uint32_t>(bytes, header.tokenOffsets);
  image.tokenBytes_ = at<char>(bytes, header.tokenBytes);
  image.tokenTypes_ = at<TokenType>(bytes, header.tokenTypes);
  image.byteTokens_ = at<uint32_t>(bytes, header.byteTokens);
  image.tokenSlots_ = spanAt<uint32_t>(bytes, header.tokenSlots);
  image.mergeSlots_ = spanAt<MergeSlot>(bytes, header.mergeSlots);
  image.specials_ = spanAt<uint32_t>(bytes, header.specials);
  image.endIds_ = spanAt<uint32_t>(bytes, header.endIds);
  image.controlIds_ = spanAt<uint32_t>(bytes, header.controlIds);

  FIRN_RETURN_IF_ERROR(checkTokens(image, spanAt<uint32_t>(bytes, header.tokenOffsets)));
  FIRN_RETURN_IF_ERROR(checkByteTokens(image));
  for (const uint32_t id : image.tokenSlots_) {
    if (id != kNoToken && id >= header.tokenCount) {
      return corrupt("tokenizer image: a hash slot holds token " + std::to_string(id) + " of " +
                     std::to_string(header.tokenCount));
    }
  }
  for (const MergeSlot& slot : image.mergeSlots_) {
    if (slot.left != kNoToken) FIRN_RETURN_IF_ERROR(checkMerge(image, slot));
  }
  FIRN_RETURN_IF_ERROR(checkSpecials(image));
  FIRN_RETURN_IF_ERROR(checkIds(image.endIds_, header.tokenCount, "end ids"));
  FIRN_RETURN_IF_ERROR(checkIds(image.controlIds_, header.tokenCount, "control ids"));
  return image;
}

uint32_t TokenizerImage::findToken(std::string_view bytes) const {
  const size_t mask = tokenSlots_.size() - 1;
  size_t slot = XXH3_64bits(bytes.data(), bytes.size()) & mask;
  for (uint32_t probe = 0; probe < header_->maxProbe; ++probe, slot = (slot + 1) & mask) {
    const uint32_t id = tokenSlots_[slot];
    if (id == kNoToken) return kNoToken;
    if (tokenBytes(id) == bytes) return id;
  }
  return kNoToken;
}

const MergeSlot* TokenizerImage::findMerge(uint32_t left, uint32_t right) const {
  const size_t mask = mergeSlots_.size() - 1;
  size_t slot = mergeHash(left, right) & mask;
  for (uint32_t probe = 0; probe < header_->maxProbe; ++probe, slot = (slot + 1) & mask) {
    const MergeSlot& merge = mergeSlots_[slot];
    if (merge.left == kNoToken) return nullptr;
    if (merge.left == left && merge.right == right) return &merge;
  }
  return nullptr;
}

bool TokenizerImage::isEndId(uint32_t id) const { return std::binary_search(endIds_.begin(), endIds_.end(), id); }

}  // namespace firn::blob
