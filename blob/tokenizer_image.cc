#include "blob/tokenizer_image.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/align.h"
#include "base/quote.h"

namespace firn::blob {
namespace {

/// Checks that tables stand one behind the other, each at the next multiple of 8, with zeros between.
class TableOrder {
 public:
  explicit TableOrder(std::span<const std::byte> image) : image_(image) {}

  Status next(const TokenizerTable& table, uint64_t elementBytes, const char* name) {
    const uint64_t start = roundUp(end_, 8);
    const uint64_t end = start + uint64_t{table.count} * elementBytes;
    if (table.offset != start || end > image_.size()) {
      return corrupt("tokenizer image: table " + std::string(name) + " has " + std::to_string(table.count) +
                     " elements at byte " + std::to_string(table.offset) + ", expected it at " + std::to_string(start) +
                     " and within " + std::to_string(image_.size()) + " bytes");
    }
    for (uint64_t at = end_; at < start; ++at) {
      if (image_[at] == std::byte{0}) continue;
      return corrupt("tokenizer image: byte " + std::to_string(at) + " before table " + name + " is " +
                     std::to_string(std::to_integer<unsigned>(image_[at])) + ", expected 0: it is padding");
    }
    end_ = end;
    return Status::ok();
  }
  Status end() const {
    if (end_ == image_.size()) return Status::ok();
    return corrupt("tokenizer image: its tables end at byte " + std::to_string(end_) + " of " +
                   std::to_string(image_.size()));
  }

 private:
  std::span<const std::byte> image_;
  uint64_t end_ = sizeof(TokenizerHeader);
};

Status checkCount(const TokenizerTable& table, uint64_t expected, const char* name) {
  if (table.count == expected) return Status::ok();
  return corrupt("tokenizer image: table " + std::string(name) + " has " + std::to_string(table.count) +
                 " elements, expected " + std::to_string(expected));
}

Status checkSlotCount(const TokenizerTable& table, const char* name) {
  if (std::has_single_bit(table.count)) return Status::ok();
  return corrupt("tokenizer image: table " + std::string(name) + " has " + std::to_string(table.count) +
                 " elements, expected a power of two");
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
      return corrupt("tokenizer image: a choice is " + std::to_string(static_cast<uint8_t>(choice)) +
                     ", expected 0 (unsaid), 1 (no) or 2 (yes)");
    }
  }
  if (header.maxProbe == 0 || header.maxProbe > kMaxProbe) {
    return corrupt("tokenizer image: probe length " + std::to_string(header.maxProbe) + ", expected 1 to " +
                   std::to_string(kMaxProbe));
  }
  if (header.reserved0 != 0) {
    return corrupt("tokenizer image: reserved0 is " + std::to_string(header.reserved0) + ", expected 0");
  }
  return Status::ok();
}

Status checkTables(const TokenizerHeader& header, std::span<const std::byte> image) {
  const uint64_t count = header.tokenCount;
  TableOrder order(image);
  FIRN_RETURN_IF_ERROR(order.next(header.tokenOffsets, 4, "token offsets"));
  FIRN_RETURN_IF_ERROR(order.next(header.tokenBytes, 1, "token bytes"));
  FIRN_RETURN_IF_ERROR(order.next(header.tokenTypes, 1, "token types"));
  FIRN_RETURN_IF_ERROR(order.next(header.tokenSlots, 4, "token slots"));
  FIRN_RETURN_IF_ERROR(order.next(header.mergeSlots, sizeof(MergeSlot), "merge slots"));
  FIRN_RETURN_IF_ERROR(order.next(header.byteTokens, 4, "byte tokens"));
  FIRN_RETURN_IF_ERROR(order.next(header.specials, 4, "special tokens"));
  FIRN_RETURN_IF_ERROR(order.next(header.endIds, 4, "end ids"));
  FIRN_RETURN_IF_ERROR(order.next(header.controlIds, 4, "control ids"));
  FIRN_RETURN_IF_ERROR(order.end());
  FIRN_RETURN_IF_ERROR(checkCount(header.tokenOffsets, count + 1, "token offsets"));
  FIRN_RETURN_IF_ERROR(checkCount(header.tokenTypes, count, "token types"));
  FIRN_RETURN_IF_ERROR(checkCount(header.byteTokens, 256, "byte tokens"));
  FIRN_RETURN_IF_ERROR(checkSlotCount(header.tokenSlots, "token slots"));
  return checkSlotCount(header.mergeSlots, "merge slots");
}

Status checkIds(std::span<const uint32_t> ids, uint32_t tokenCount, const char* name) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= tokenCount || (i > 0 && ids[i] <= ids[i - 1])) {
      return corrupt("tokenizer image: " + std::string(name) + "[" + std::to_string(i) + "] is " +
                     std::to_string(ids[i]) + ", expected " +
                     (i > 0 ? "above " + std::to_string(ids[i - 1]) + " and " : "") + "below " +
                     std::to_string(tokenCount));
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

/// The control ids are all tokens of that type: what leaves them out of plain text goes by the list.
Status checkControlIds(const TokenizerImage& image) {
  const std::span<const uint32_t> ids = image.controlIds();
  size_t next = 0;
  for (uint32_t id = 0; id < image.tokenCount(); ++id) {
    const bool isListed = next < ids.size() && ids[next] == id;
    if (isListed != (image.tokenType(id) == TokenType::kControl)) {
      return corrupt("tokenizer image: token " + std::to_string(id) + " has type " +
                     std::to_string(static_cast<uint8_t>(image.tokenType(id))) + " and is " + (isListed ? "" : "not ") +
                     "among the control ids, which are those of type 3");
    }
    next += isListed ? 1 : 0;
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
  if (slot.left == kNoToken) {
    if (slot.right == kNoToken && slot.rank == kNoToken && slot.merged == kNoToken) return Status::ok();
    return corrupt("tokenizer image: an empty merge slot holds (" + std::to_string(slot.right) + ", " +
                   std::to_string(slot.rank) + ", " + std::to_string(slot.merged) + "), expected " +
                   std::to_string(kNoToken) + " in each field");
  }
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
    if (!special || bytes.empty() || bytes.size() > kMaxSpecialBytes) {
      return corrupt("tokenizer image: special token " + std::to_string(id) + " has type " +
                     std::to_string(static_cast<uint8_t>(type)) + " and " + std::to_string(bytes.size()) +
                     " bytes, expected type 2, 3 or 4 and 1 to " + std::to_string(kMaxSpecialBytes) + " bytes");
    }
    if (bytes <= previous) {
      return corrupt("tokenizer image: special token " + std::to_string(id) + ", " + quoted(bytes) +
                     ", stands behind " + quoted(previous) + ", expected ascending bytes");
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
  FIRN_RETURN_IF_ERROR(checkTables(header, bytes));
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
    FIRN_RETURN_IF_ERROR(checkMerge(image, slot));
  }
  FIRN_RETURN_IF_ERROR(checkSpecials(image));
  FIRN_RETURN_IF_ERROR(checkIds(image.endIds_, header.tokenCount, "end ids"));
  FIRN_RETURN_IF_ERROR(checkIds(image.controlIds_, header.tokenCount, "control ids"));
  FIRN_RETURN_IF_ERROR(checkControlIds(image));
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
