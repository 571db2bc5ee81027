#include "compiler/import/gguf_tokenizer.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/quote.h"
#include "blob/split_rule.h"
#include "blob/tokenizer_image.h"

namespace firn::import {
namespace {

using blob::Choice;
using blob::TokenizerData;

// An id key; absent, -1 and 0xFFFFFFFF all mean that there is no such token.
Result<std::optional<uint32_t>> readId(const GgufFile& file, std::string_view key, size_t tokens) {
  const GgufValue* value = file.find(key);
  if (value != nullptr && !value->isArray() && value->signedAt(0) == -1) return std::optional<uint32_t>();
  FIRN_ASSIGN_OR_RETURN(const std::optional<uint64_t> id, file.getU64(key));
  if (!id || *id == std::numeric_limits<uint32_t>::max()) return std::optional<uint32_t>();
  if (*id >= tokens) {
    return corrupt(file.path() + ": key " + quoted(key) + " is " + std::to_string(*id) +
                   ", expected less than the number of tokens " + std::to_string(tokens));
  }
  return std::optional<uint32_t>(static_cast<uint32_t>(*id));
}

Result<Choice> readChoice(const GgufFile& file, std::string_view key) {
  FIRN_ASSIGN_OR_RETURN(const std::optional<bool> choice, file.getBool(key));
  if (!choice) return Choice::kUnsaid;
  return *choice ? Choice::kYes : Choice::kNo;
}

Result<std::vector<std::string_view>> readStrings(const GgufFile& file, std::string_view key) {
  FIRN_ASSIGN_OR_RETURN(const std::optional<GgufStrings> strings, file.getStrings(key));
  if (!strings) return corrupt(file.path() + ": key " + quoted(key) + " is missing");
  return std::vector<std::string_view>(strings->begin(), strings->end());
}

Status readTypes(const GgufFile& file, TokenizerData* data) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  const GgufValue* value = file.find(kKey);
  if (value == nullptr) return Status::ok();
  if (!value->isArray() || value->count != data->tokens.size()) {
    return corrupt(file.path() + ": key " + quoted(kKey) + " has " + std::to_string(value->count) +
                   " values, expected one for each of the " + std::to_string(data->tokens.size()) + " tokens");
  }
  data->types.reserve(value->count);
  for (uint64_t i = 0; i < value->count; ++i) {
    const std::optional<int64_t> type = value->signedAt(i);
    if (!type || *type < std::numeric_limits<int32_t>::min() || *type > std::numeric_limits<int32_t>::max()) {
      return corrupt(file.path() + ": key " + quoted(kKey) + " has no 32-bit integer at index " + std::to_string(i));
    }
    data->types.push_back(static_cast<int32_t>(*type));
  }
  return Status::ok();
}

constexpr std::string_view kEosKey = "tokenizer.ggml.eos_token_id";
constexpr std::string_view kOtherEndKeys[] = {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"};

Status readIds(const GgufFile& file, TokenizerData* data) {
  const size_t tokens = data->tokens.size();
  FIRN_ASSIGN_OR_RETURN(data->bosId, readId(file, "tokenizer.ggml.bos_token_id", tokens));
  FIRN_ASSIGN_OR_RETURN(data->eosId, readId(file, kEosKey, tokens));
  FIRN_ASSIGN_OR_RETURN(data->unknownId, readId(file, "tokenizer.ggml.unknown_token_id", tokens));
  FIRN_ASSIGN_OR_RETURN(data->padId, readId(file, "tokenizer.ggml.padding_token_id", tokens));
  for (const std::string_view key : kOtherEndKeys) {
    FIRN_ASSIGN_OR_RETURN(const std::optional<uint32_t> id, readId(file, key, tokens));
    if (id) data->endIds.push_back(*id);
  }
  return Status::ok();
}

}  // namespace

std::vector<std::string> notesOnGgufTokenizer(const GgufFile& file) {
  std::vector<std::string> notes;
  if (file.find("tokenizer.ggml.pre") == nullptr) {
    notes.emplace_back(
        "the file does not say how its tokenizer splits text (key 'tokenizer.ggml.pre'): as GPT-2 is assumed; if that "
        "is wrong, prompts get the wrong ids");
  }
  const auto addsBos = file.getBool("tokenizer.ggml.add_bos_token");
  if (addsBos && addsBos->value_or(false) && file.find("tokenizer.ggml.bos_token_id") == nullptr) {
    notes.emplace_back(
        "key 'tokenizer.ggml.add_bos_token' asks for a begin token, but key 'tokenizer.ggml.bos_token_id' is missing: "
        "none is added");
  }
  return notes;
}

Result<std::vector<uint32_t>> importGgufEndIds(const GgufFile& file, uint32_t vocab) {
  std::vector<uint32_t> ids;
  for (const std::string_view key : {kEosKey, kOtherEndKeys[0], kOtherEndKeys[1]}) {
    FIRN_ASSIGN_OR_RETURN(const std::optional<uint32_t> id, readId(file, key, vocab));
    if (id && std::ranges::find(ids, *id) == ids.end()) ids.push_back(*id);
  }
  return ids;
}

Result<std::vector<std::byte>> importGgufTokenizer(const GgufFile& file) {
  FIRN_ASSIGN_OR_RETURN(const std::optional<std::string_view> model, file.getString("tokenizer.ggml.model"));
  if (!model || *model == "no_vocab" || *model == "none") {
    return notFound(file.path() + ": the file has no tokenizer (key 'tokenizer.ggml.model')");
  }
  if (*model != "gpt2") {
    return unsupported(file.path() + ": the tokenizer is of kind " + quoted(*model) +
                       " (key 'tokenizer.ggml.model'); supported: gpt2");
  }
  FIRN_ASSIGN_OR_RETURN(const std::optional<std::string_view> pre, file.getString("tokenizer.ggml.pre"));
  if (pre && !blob::splitRuleFromName(*pre)) {
    return unsupported(file.path() + ": the tokenizer splits text by the rule " + quoted(*pre) +
                       " (key 'tokenizer.ggml.pre'); supported: " + blob::splitRuleNames());
  }
  TokenizerData data;
  data.model = std::string(*model);
  data.pre = std::string(pre.value_or(""));
  FIRN_ASSIGN_OR_RETURN(data.tokens, readStrings(file, "tokenizer.ggml.tokens"));
  FIRN_ASSIGN_OR_RETURN(data.merges, readStrings(file, "tokenizer.ggml.merges"));
  FIRN_RETURN_IF_ERROR(readTypes(file, &data));
  FIRN_RETURN_IF_ERROR(readIds(file, &data));
  FIRN_ASSIGN_OR_RETURN(data.addBos, readChoice(file, "tokenizer.ggml.add_bos_token"));
  FIRN_ASSIGN_OR_RETURN(data.addEos, readChoice(file, "tokenizer.ggml.add_eos_token"));
  FIRN_ASSIGN_OR_RETURN(data.addSpacePrefix, readChoice(file, "tokenizer.ggml.add_space_prefix"));
  Result<std::vector<std::byte>> image = blob::buildTokenizerImage(data);
  if (!image.isOk()) return image.status().withPlace(file.path());
  return image;
}

}  // namespace firn::import
