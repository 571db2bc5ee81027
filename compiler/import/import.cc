#include "compiler/import/import.h"

#include <array>
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "base/utf8.h"
#include "compiler/import/gguf_tokenizer.h"
#include "compiler/import/models/architectures.h"

namespace firn::import {
namespace {

constexpr size_t kMostTemplateBytes = 1U << 20;  // published templates are below 20 KiB

Status readChatTemplate(const GgufFile& file, ModelSpec* spec) {
  FIRN_ASSIGN_OR_RETURN(const std::optional<std::string_view> text, file.getString("tokenizer.chat_template"));
  if (!text) return Status::ok();
  if (text->size() > kMostTemplateBytes) {
    return unsupported(file.path() + ": key 'tokenizer.chat_template' has " + std::to_string(text->size()) +
                       " bytes, at most " + std::to_string(kMostTemplateBytes) + " are read");
  }
  if (!isUtf8(*text)) return corrupt(file.path() + ": key 'tokenizer.chat_template' is no valid UTF-8");
  spec->chatTemplate = std::string(*text);
  return Status::ok();
}

// No tokenizer, or one of an unknown kind, is no reason to refuse a model: it still runs on token ids.
Status readTokenizer(const GgufFile& file, ModelSpec* spec) {
  Result<std::vector<std::byte>> image = importGgufTokenizer(file);
  if (image.isOk()) {
    spec->tokenizerImage = *std::move(image);
    spec->tokenizerNotes = notesOnGgufTokenizer(file);
    return Status::ok();
  }
  const Code code = image.status().code();
  if (code != Code::kNotFound && code != Code::kUnsupported) return image.status();
  spec->tokenizerAbsence = image.status().message();
  return Status::ok();
}

}  // namespace

Result<ModelSpec> importModel(const std::string& path) {
  FIRN_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::open(path));
  return importModel(file);
}

Result<ModelSpec> importModel(const GgufFile& file) {
  if (file.tensors().empty()) {
    return unsupported(file.path() + ": the model has no weights (a file with 0 tensors holds only a tokenizer)");
  }
  FIRN_ASSIGN_OR_RETURN(const Architecture* architecture, findArchitecture(file));
  FIRN_ASSIGN_OR_RETURN(ModelSpec spec, architecture->import(file));
  FIRN_RETURN_IF_ERROR(readTokenizer(file, &spec));
  FIRN_ASSIGN_OR_RETURN(spec.endIds, importGgufEndIds(file, spec.vocab));
  FIRN_RETURN_IF_ERROR(readChatTemplate(file, &spec));
  spec.sourceHash = sourceHash(file);
  return spec;
}

Result<std::vector<std::byte>> importTokenizer(const std::string& path) {
  FIRN_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::open(path));
  return importGgufTokenizer(file);
}

blob::Hash128 sourceHash(const GgufFile& file) {
  Hasher128 hasher;
  for (const GgufFile::ShardView& shard : file.shards()) {
    hasher.update(shard.metadata);
    const std::array<uint64_t, 2> sizes{shard.metadata.size(), shard.fileBytes};
    hasher.update(std::as_bytes(std::span(sizes)));
  }
  return hasher.digest();
}

}  // namespace firn::import
