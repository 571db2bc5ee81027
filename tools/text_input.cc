#include "tools/text_input.h"

#include <iostream>
#include <vector>

#include "tools/counted.h"

namespace firn::tools {

Status withTokenizer(const std::string& path, const std::string& idsOption,
                     const std::function<Status(const genai::Tokenizer&)>& look) {
  const auto missing = [&](const Status& why) {
    if (why.code() != Code::kNotFound && why.code() != Code::kUnsupported) return why;
    return unsupported("the model has no tokenizer that firn reads (" + why.message() + "): give token ids with " +
                       idsOption);
  };
  const auto image = tokenizerImage(path);
  if (!image) return missing(image.status());
  const auto tokenizer = genai::Tokenizer::open(*image);
  return tokenizer ? look(*tokenizer) : missing(tokenizer.status());
}

Status checkPromptLength(size_t tokens, const PlannedLimits& limits) {
  if (tokens == 0) return invalidArgument("the prompt has no tokens: give at least one");
  if (tokens <= limits.maxPromptTokens) return Status::ok();
  return outOfRange("the prompt has " + std::to_string(tokens) + " tokens, the limit is " +
                    std::to_string(limits.maxPromptTokens) +
                    " (max_prompt_len): shorten it or give a larger --max-prompt-len");
}

Result<std::vector<int32_t>> encodeText(const genai::Tokenizer& tokenizer, std::string_view text) {
  uint64_t bytes = 0;
  auto ids = tokenizer.encode(text, {}, &bytes);
  if (bytes > 0) {
    std::cerr << "firn: note: the vocabulary has no tokens for " << counted(bytes, "byte") << " of the text; "
              << (bytes == 1 ? "it is" : "they are") << " left out\n";
  }
  return ids;
}

}  // namespace firn::tools
