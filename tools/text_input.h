// Texts that a model is asked about: what can be said of them before it is compiled, and what its vocabulary leaves
// out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "genai/tokenizer/tokenizer.h"
#include "tools/model_source.h"

namespace firn::tools {

/// Calls `look` with the tokenizer of the GGUF at `path`. unsupported when it has none that firn reads: `idsOption` is
/// what to give instead of a text.
Status withTokenizer(const std::string& path, const std::string& idsOption,
                     const std::function<Status(const genai::Tokenizer&)>& look);

/// invalid_argument when a prompt has no tokens, out_of_range when one of `tokens` tokens is longer than the model's
/// will be.
Status checkPromptLength(size_t tokens, const PlannedLimits& limits);

/// The ids of `text`; standard error says so when bytes of it have no token and are left out.
Result<std::vector<int32_t>> encodeText(const genai::Tokenizer& tokenizer, std::string_view text);

}  // namespace firn::tools
