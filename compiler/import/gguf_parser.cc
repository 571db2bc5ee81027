#include "compiler/import/gguf_parser.h"

#include <algorithm>
#include <bit>
#include <set>
#include <string>

#include "base/align.h"
#include "base/quote.h"

namespace firn::import {
namespace {

// Least bytes of a key (length, one character, type, one byte) and of a tensor (length, one character, rank, one
// dimension, type, offset): a count that cannot fit is refused before anything is stored.
constexpr uint64_t kLeastKeyBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kLeastTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;
constexpr uint64_t kDefaultAlignment = 32;

std::string number(uint64_t value) { return std::to_string(value); }

class Parser {
 public:
  explicit Parser(std::span<const std::byte> file) : file_(file) {}

  Result<ParsedGguf> parse() {
    FIRN_RETURN_IF_ERROR(readHeader());
    FIRN_RETURN_IF_ERROR(readKeys());
    FIRN_RETURN_IF_ERROR(readTensors());
    return std::move(out_);
  }

 private:
  uint64_t left() const { return file_.size() - at_; }

  Status need(uint64_t bytes, std::string_view what) const {
    if (bytes <= left()) return Status::ok();
    return corrupt("truncated: " + std::string(what) + " needs " + number(bytes) + " bytes at offset " + number(at_) +
                   ", the file has " + number(left()) + " left");
  }

  template <typename T>
  Status read(T* value, std::string_view what) {
    FIRN_RETURN_IF_ERROR(need(sizeof(T), what));
    *value = loadLittle<T>(file_.data() + at_);
    at_ += sizeof(T);
    return Status::ok();
  }

  Status take(uint64_t bytes, std::string_view what, std::span<const std::byte>* view) {
    FIRN_RETURN_IF_ERROR(need(bytes, what));
    *view = file_.subspan(at_, bytes);
    at_ += bytes;
    return Status::ok();
  }

  Status readText(std::string_view what, std::span<const std::byte>* view) {
    uint64_t length = 0;
    FIRN_RETURN_IF_ERROR(read(&length, what));
    return take(length, what, view);
  }

  Status readHeader();
  Status readKeys();
  Status readKey(uint64_t index);
  Status readValue(const std::string& place, GgufValue* value);
  Status readArray(const std::string& place, GgufValue* value);
  Status checkBools(const std::string& place, const GgufValue& value) const;
  Status readTensors();
  Status readTensor(uint64_t index);
  Status readShape(const std::string& place, GgufTensor* tensor, uint64_t* bytes);
  Status placeTensors();
  Status checkAlignment(const GgufValue& value);

  std::span<const std::byte> file_;
  uint64_t at_ = 0;
  uint64_t keyCount_ = 0;
  uint64_t tensorCount_ = 0;
  uint64_t alignment_ = kDefaultAlignment;
  std::set<std::string_view> names_;  // ordered: a file must not be able to choose colliding hashes
  struct Extent {
    uint64_t offset;
    uint64_t bytes;
  };
  std::vector<Extent> extents_;  // of the tensors, from the start of the data
  ParsedGguf out_;
};

Status Parser::readHeader() {
  uint32_t magic = 0;
  FIRN_RETURN_IF_ERROR(read(&magic, "the magic"));
  if (magic != 0x46554747U) {
    return corrupt("no GGUF file: it starts with " + quoted({reinterpret_cast<const char*>(file_.data()), size_t{4}}) +
                   ", expected 'GGUF'");
  }
  uint32_t version = 0;
  FIRN_RETURN_IF_ERROR(read(&version, "the version"));
  if (version != 0 && (version & 0xFFFFU) == 0) {
    return unsupported("a GGUF file of the other byte order (big-endian); convert it to little-endian");
  }
  if (version != 2 && version != 3) {
    return versionMismatch("GGUF version " + number(version) + ", expected 2 or 3");
  }
  out_.version = version;
  FIRN_RETURN_IF_ERROR(read(&tensorCount_, "the number of tensors"));
  FIRN_RETURN_IF_ERROR(read(&keyCount_, "the number of keys"));
  if (keyCount_ > left() / kLeastKeyBytes) {
    return corrupt("truncated: the header claims " + number(keyCount_) + " keys of at least " + number(kLeastKeyBytes) +
                   " bytes, the file has " + number(left()) + " bytes left");
  }
  if (tensorCount_ > left() / kLeastTensorBytes) {
    return corrupt("truncated: the header claims " + number(tensorCount_) + " tensors of at least " +
                   number(kLeastTensorBytes) + " bytes, the file has " + number(left()) + " bytes left");
  }
  if (keyCount_ > kMaxGgufKeys) {
    return unsupported(number(keyCount_) + " keys, at most " + number(kMaxGgufKeys) + " are read");
  }
  if (tensorCount_ > kMaxGgufTensors) {
    return unsupported(number(tensorCount_) + " tensors, at most " + number(kMaxGgufTensors) + " are read");
  }
  return Status::ok();
}

Status Parser::readKeys() {
  for (uint64_t i = 0; i < keyCount_; ++i) FIRN_RETURN_IF_ERROR(readKey(i));
  names_.clear();
  return Status::ok();
}

Status Parser::readKey(uint64_t index) {
  std::span<const std::byte> text;
  const std::string ordinal = "key " + number(index);
  FIRN_RETURN_IF_ERROR(readText(ordinal, &text));
  const std::string_view name(reinterpret_cast<const char*>(text.data()), text.size());
  if (name.empty()) return corrupt(ordinal + " has an empty name");
  if (name.size() > kMaxGgufKeyBytes) {
    return corrupt(ordinal + " has a name of " + number(name.size()) + " bytes, at most " + number(kMaxGgufKeyBytes));
  }
  const std::string place = "key " + quoted(name);
  if (!names_.insert(name).second) return corrupt(place + " stands twice");
  GgufValue value;
  FIRN_RETURN_IF_ERROR(readValue(place, &value));
  if (name == "general.alignment") FIRN_RETURN_IF_ERROR(checkAlignment(value));
  out_.keys.push_back({name, value});
  return Status::ok();
}

Status Parser::readValue(const std::string& place, GgufValue* value) {
  uint32_t type = 0;
  FIRN_RETURN_IF_ERROR(read(&type, place));
  if (type >= kGgufTypes) {
    return corrupt(place + " has value type " + number(type) + ", expected 0 to " + number(kGgufTypes - 1));
  }
  value->type = static_cast<GgufType>(type);
  value->element = value->type;
  if (value->type == GgufType::kArray) return readArray(place, value);
  if (value->type == GgufType::kString) return readText(place, &value->payload);
  FIRN_RETURN_IF_ERROR(take(ggufTypeBytes(value->type), place, &value->payload));
  return checkBools(place, *value);
}

Status Parser::readArray(const std::string& place, GgufValue* value) {
  uint32_t element = 0;
  FIRN_RETURN_IF_ERROR(read(&element, place));
  FIRN_RETURN_IF_ERROR(read(&value->count, place));
  if (element >= kGgufTypes) {
    return corrupt(place + " has element type " + number(element) + ", expected 0 to " + number(kGgufTypes - 1));
  }
  value->element = static_cast<GgufType>(element);
  if (value->element == GgufType::kArray) return unsupported(place + " is an array of arrays");
  const uint64_t least = value->element == GgufType::kString ? 8 : ggufTypeBytes(value->element);
  if (value->count > left() / least) {
    return corrupt("truncated: " + place + " claims " + number(value->count) + " elements of at least " +
                   number(least) + " bytes, the file has " + number(left()) + " left");
  }
  if (value->element != GgufType::kString) {
    FIRN_RETURN_IF_ERROR(take(value->count * least, place, &value->payload));
    return checkBools(place, *value);
  }
  const uint64_t start = at_;
  std::span<const std::byte> text;
  for (uint64_t i = 0; i < value->count; ++i) FIRN_RETURN_IF_ERROR(readText(place, &text));
  value->payload = file_.subspan(start, at_ - start);
  return Status::ok();
}

Status Parser::checkBools(const std::string& place, const GgufValue& value) const {
  if (value.element != GgufType::kBool) return Status::ok();
  for (const std::byte byte : value.payload) {
    if (byte > std::byte{1}) {
      return corrupt(place + " has a bool of value " + number(std::to_integer<uint64_t>(byte)) + ", expected 0 or 1");
    }
  }
  return Status::ok();
}

Status Parser::checkAlignment(const GgufValue& value) {
  const std::optional<uint64_t> alignment = value.isArray() ? std::nullopt : value.unsignedAt(0);
  if (!alignment) {
    return corrupt("key 'general.alignment' is of type " + std::string(ggufTypeName(value.type)) +
                   ", expected an unsigned integer");
  }
  if (!std::has_single_bit(*alignment) || *alignment < kMinGgufAlignment || *alignment > kMaxGgufAlignment) {
    return corrupt("key 'general.alignment' is " + number(*alignment) + ", expected a power of two from " +
                   number(kMinGgufAlignment) + " to " + number(kMaxGgufAlignment));
  }
  alignment_ = *alignment;
  return Status::ok();
}

Status Parser::readTensors() {
  for (uint64_t i = 0; i < tensorCount_; ++i) FIRN_RETURN_IF_ERROR(readTensor(i));
  out_.metadataBytes = at_;
  return placeTensors();
}

Status Parser::readTensor(uint64_t index) {
  std::span<const std::byte> text;
  const std::string ordinal = "tensor " + number(index);
  FIRN_RETURN_IF_ERROR(readText(ordinal, &text));
  GgufTensor tensor;
  tensor.name = {reinterpret_cast<const char*>(text.data()), text.size()};
  if (tensor.name.empty()) return corrupt(ordinal + " has an empty name");
  const std::string place = "tensor " + quoted(tensor.name);
  if (tensor.name.size() > kMaxGgufNameBytes) {
    return corrupt(place + " has a name of " + number(tensor.name.size()) + " bytes, at most " +
                   number(kMaxGgufNameBytes));
  }
  if (!names_.insert(tensor.name).second) return corrupt(place + " stands twice");
  uint64_t bytes = 0;
  FIRN_RETURN_IF_ERROR(readShape(place, &tensor, &bytes));
  uint64_t offset = 0;
  FIRN_RETURN_IF_ERROR(read(&offset, place));
  if (offset % alignment_ != 0) {
    return corrupt(place + " has its data at offset " + number(offset) + ", expected a multiple of the alignment " +
                   number(alignment_));
  }
  extents_.push_back({offset, bytes});
  out_.tensors.push_back(tensor);
  return Status::ok();
}

// Rank, dimensions and type of a tensor, and the bytes that they make.
Status Parser::readShape(const std::string& place, GgufTensor* tensor, uint64_t* bytes) {
  FIRN_RETURN_IF_ERROR(read(&tensor->rank, place));
  if (tensor->rank < 1 || tensor->rank > tensor->dims.size()) {
    return corrupt(place + " has " + number(tensor->rank) + " dimensions, expected 1 to 4");
  }
  uint64_t elements = 1;
  for (uint32_t i = 0; i < tensor->rank; ++i) {
    uint64_t& dim = tensor->dims[i];
    FIRN_RETURN_IF_ERROR(read(&dim, place));
    if (dim == 0) return corrupt(place + " has 0 as dimension " + number(i));
    // A weight takes a quarter of a bit at the very least; the exact size is checked once the type is known.
    if (dim > file_.size() * 64 / elements) {
      return corrupt(place + " has " + number(dim) + " as dimension " + number(i) + ": more weights than a file of " +
                     number(file_.size()) + " bytes can hold");
    }
    elements *= dim;
  }
  uint32_t type = 0;
  FIRN_RETURN_IF_ERROR(read(&type, place));
  tensor->type = ggmlType(type);
  if (tensor->type == nullptr) {
    return unsupported(place + " has type number " + number(type) + ", which no GGUF version has (or which was " +
                       "removed); supported: " + supportedWeightTypes());
  }
  if (tensor->dims[0] % tensor->type->blockElements != 0) {
    return corrupt(place + " has rows of " + number(tensor->dims[0]) + " weights, but " +
                   std::string(tensor->type->name) + " needs a multiple of " + number(tensor->type->blockElements));
  }
  *bytes = elements / tensor->type->blockElements * tensor->type->blockBytes;
  return Status::ok();
}

// Cuts the views of all tensors and checks that their data lies in the file and does not overlap.
Status Parser::placeTensors() {
  if (out_.tensors.empty()) return Status::ok();
  const uint64_t dataStart = roundUp(uint64_t{at_}, alignment_);
  const uint64_t dataBytes = dataStart <= file_.size() ? file_.size() - dataStart : 0;
  std::vector<uint32_t> order(extents_.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    const Extent& extent = extents_[i];
    if (extent.offset > dataBytes || extent.bytes > dataBytes - extent.offset) {
      return corrupt("truncated: tensor " + quoted(out_.tensors[i].name) + " has " + number(extent.bytes) +
                     " bytes at offset " + number(extent.offset) + " of the data, which has " + number(dataBytes) +
                     " bytes");
    }
    out_.tensors[i].bytes = file_.subspan(dataStart + extent.offset, extent.bytes);
  }
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return extents_[a].offset < extents_[b].offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const Extent& before = extents_[order[i - 1]];
    if (before.offset + before.bytes > extents_[order[i]].offset) {
      return corrupt("the data of tensors " + quoted(out_.tensors[order[i - 1]].name) + " and " +
                     quoted(out_.tensors[order[i]].name) + " overlap");
    }
  }
  return Status::ok();
}

}  // namespace

Result<ParsedGguf> parseGguf(std::span<const std::byte> file) { return Parser(file).parse(); }

}  // namespace firn::import
