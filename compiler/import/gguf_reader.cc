#include "compiler/import/gguf_reader.h"

#include <cstdio>
#include <utility>

#include "base/mapped_file.h"
#include "base/quote.h"
#include "compiler/import/gguf_parser.h"

namespace firn::import {
namespace {

constexpr uint64_t kMaxShards = 99999;  // five digits in the file names

/// The end of a shard's file name: "-00002-of-00003.gguf" for index 1 of 3.
std::string shardSuffix(uint64_t index, uint64_t count) {
  char text[40];
  std::snprintf(text, sizeof text, "-%05llu-of-%05llu.gguf", static_cast<unsigned long long>(index + 1),
                static_cast<unsigned long long>(count));
  return text;
}

/// What a file says about its place in a split set; a file without these keys is the only one.
struct SplitPlace {
  uint64_t index = 0;
  uint64_t count = 1;
  std::optional<uint64_t> tensors;  ///< of all shards
};

template <typename Find>
Result<std::optional<uint64_t>> splitKey(const Find& find, std::string_view key) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<uint64_t>();
  const std::optional<uint64_t> number = value->isArray() ? std::nullopt : value->unsignedAt(0);
  if (!number) return corrupt("key " + quoted(key) + " is no unsigned integer");
  return number;
}

template <typename Find>
Result<SplitPlace> splitPlace(const Find& find) {
  SplitPlace place;
  FIRN_ASSIGN_OR_RETURN(const std::optional<uint64_t> count, splitKey(find, "split.count"));
  FIRN_ASSIGN_OR_RETURN(const std::optional<uint64_t> index, splitKey(find, "split.no"));
  FIRN_ASSIGN_OR_RETURN(place.tensors, splitKey(find, "split.tensors.count"));
  if (count && *count > 1) place.count = *count;
  if (place.count > kMaxShards) {
    return corrupt("key 'split.count' is " + std::to_string(place.count) + ", at most " + std::to_string(kMaxShards) +
                   " shards can have names");
  }
  if (place.count > 1 && !index) return corrupt("key 'split.no' is missing beside 'split.count'");
  place.index = index.value_or(0);
  if (place.index >= place.count) {
    return corrupt("key 'split.no' is " + std::to_string(place.index) + ", expected less than the shard count " +
                   std::to_string(place.count));
  }
  return place;
}

struct OpenFile {
  FileState state;
  MappedFile file;
};

/// The state is that before the mapping, so that no change is missed between the two.
Result<OpenFile> openFile(const std::string& path) {
  const Result<FileState> state = fileState(path);
  FIRN_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  if (!state) return state.status();
  return OpenFile{*state, std::move(file)};
}

}  // namespace

struct GgufFile::Storage {
  std::vector<MappedFile> files;
};

Result<GgufFile> GgufFile::open(const std::string& path) {
  GgufFile file;
  file.path_ = path;
  file.storage_ = std::make_shared<Storage>();
  FIRN_ASSIGN_OR_RETURN(OpenFile opened, openFile(path));
  const std::span<const std::byte> bytes = opened.file.bytes();
  file.storage_->files.push_back(std::move(opened.file));
  if (Status status = file.addFirst(bytes, opened.state); !status.isOk()) return status.withPlace(path);
  if (Status status = file.resolveShards(); !status.isOk()) return status.withPlace(path);
  return file;
}

Result<GgufFile> GgufFile::fromMemory(std::span<const std::byte> bytes, std::string name) {
  GgufFile file;
  file.path_ = std::move(name);
  file.storage_ = std::make_shared<Storage>();
  if (Status status = file.addFirst(bytes, {}); !status.isOk()) return status.withPlace(file.path_);
  Result<SplitPlace> place = splitPlace([&](std::string_view key) { return file.find(key); });
  if (!place.isOk()) return place.status().withPlace(file.path_);
  if (place->count > 1) return unsupported(file.path_ + ": a shard of a split file; open it by its path");
  return file;
}

Status GgufFile::addFirst(std::span<const std::byte> bytes, const FileState& state) {
  FIRN_ASSIGN_OR_RETURN(ParsedGguf parsed, parseGguf(bytes));
  version_ = parsed.version;
  for (const GgufKey& key : parsed.keys) keys_.emplace(key.name, key.value);
  shards_.push_back({path_, bytes.first(parsed.metadataBytes), bytes.size(), state});
  return addTensors(parsed.tensors);
}

Status GgufFile::addTensors(const std::vector<GgufTensor>& tensors) {
  tensors_.reserve(tensors_.size() + tensors.size());
  for (const GgufTensor& tensor : tensors) {
    if (!tensorIndex_.emplace(tensor.name, static_cast<uint32_t>(tensors_.size())).second) {
      return corrupt("tensor " + quoted(tensor.name) + " stands in two shards");
    }
    tensors_.push_back(tensor);
  }
  if (tensors_.size() > kMaxGgufTensors) {
    return unsupported("more than " + std::to_string(kMaxGgufTensors) + " tensors in all shards");
  }
  return Status::ok();
}

Status GgufFile::resolveShards() {
  FIRN_ASSIGN_OR_RETURN(const SplitPlace place, splitPlace([&](std::string_view key) { return find(key); }));
  if (place.count > 1) {
    const std::string suffix = shardSuffix(place.index, place.count);
    const bool named = path_.ends_with(suffix);
    const std::string stem = path_.substr(0, path_.size() - (named ? suffix.size() : 0));
    if (place.index > 0) {
      return invalidArgument("this is shard " + std::to_string(place.index + 1) + " of " + std::to_string(place.count) +
                             "; open the first shard" + (named ? ", " + stem + shardSuffix(0, place.count) : ""));
    }
    if (!named) {
      return corrupt("the first of " + std::to_string(place.count) + " shards, expected its name to end with '" +
                     suffix + "': the others cannot be found");
    }
    if (!place.tensors) return corrupt("key 'split.tensors.count' is missing beside 'split.count'");
    for (uint64_t i = 1; i < place.count; ++i) {
      FIRN_RETURN_IF_ERROR(addShard(i, place.count, stem + shardSuffix(i, place.count)));
    }
  }
  if (place.tensors && *place.tensors != tensors_.size()) {
    return corrupt("key 'split.tensors.count' is " + std::to_string(*place.tensors) + ", the " +
                   std::to_string(place.count) + " shards have " + std::to_string(tensors_.size()) +
                   " tensors; a shard is not of this set");
  }
  return Status::ok();
}

Status GgufFile::addShard(uint64_t index, uint64_t count, const std::string& path) {
  Result<OpenFile> opened = openFile(path);
  if (!opened.isOk()) {
    return opened.status().withPlace("shard " + std::to_string(index + 1) + " of " + std::to_string(count) + ", " +
                                     path);
  }
  const std::span<const std::byte> bytes = opened->file.bytes();
  Result<ParsedGguf> parsed = parseGguf(bytes);
  if (!parsed.isOk()) return parsed.status().withPlace(path);
  Result<SplitPlace> place = splitPlace([&](std::string_view name) -> const GgufValue* {
    for (const GgufKey& key : parsed->keys) {
      if (key.name == name) return &key.value;
    }
    return nullptr;
  });
  if (!place.isOk()) return place.status().withPlace(path);
  if (place->count != count || place->index != index) {
    return corrupt(path + ": it says it is shard " + std::to_string(place->index + 1) + " of " +
                   std::to_string(place->count) + ", expected " + std::to_string(index + 1) + " of " +
                   std::to_string(count));
  }
  shards_.push_back({path, bytes.first(parsed->metadataBytes), bytes.size(), opened->state});
  storage_->files.push_back(std::move(opened->file));
  return addTensors(parsed->tensors).withPlace(path);
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : &found->second;
}

const GgufTensor* GgufFile::findTensor(std::string_view name) const {
  const auto found = tensorIndex_.find(name);
  return found == tensorIndex_.end() ? nullptr : &tensors_[found->second];
}

Status GgufFile::wrongType(std::string_view key, const GgufValue& found, std::string_view expected) const {
  std::string type(ggufTypeName(found.type));
  if (found.isArray()) type += " of " + std::string(ggufTypeName(found.element));
  return corrupt(path_ + ": key " + quoted(key) + " is of type " + type + ", expected " + std::string(expected));
}

Result<std::optional<uint64_t>> GgufFile::getU64(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<uint64_t>();
  const std::optional<uint64_t> number = value->isArray() ? std::nullopt : value->unsignedAt(0);
  if (number) return number;
  const std::optional<int64_t> negative = value->isArray() ? std::nullopt : value->signedAt(0);
  if (negative) {
    return corrupt(path_ + ": key " + quoted(key) + " is " + std::to_string(*negative) + ", expected 0 or more");
  }
  return wrongType(key, *value, "an integer");
}

Result<std::optional<double>> GgufFile::getFloat(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<double>();
  const std::optional<double> number = value->isArray() ? std::nullopt : value->floatAt(0);
  if (!number) return wrongType(key, *value, "f32 or f64");
  return number;
}

Result<std::optional<bool>> GgufFile::getBool(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  const std::optional<bool> truth = value->boolean();
  if (!truth) return wrongType(key, *value, "bool");
  return truth;
}

Result<std::optional<std::string_view>> GgufFile::getString(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::string_view>();
  const std::optional<std::string_view> text = value->string();
  if (!text) return wrongType(key, *value, "string");
  return text;
}

Result<std::optional<GgufStrings>> GgufFile::getStrings(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<GgufStrings>();
  const std::optional<GgufStrings> strings = value->strings();
  if (!strings) return wrongType(key, *value, "an array of strings");
  return strings;
}

}  // namespace firn::import
