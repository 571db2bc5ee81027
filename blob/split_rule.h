// How a byte-level tokenizer cuts text before it merges: the names that model files give, as the rules that firn knows.
// Not here: the rules themselves (genai/tokenizer/pre_tokenizer.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace firn::blob {

enum class SplitRule : uint32_t { kGpt2, kSmollm, kLlama3, kQwen2 };

/// The rule that a name of TokenizerHeader::preName stands for (an empty one: GPT-2's); nullopt for one that firn does
/// not know.
std::optional<SplitRule> splitRuleFromName(std::string_view name);

/// Every known name, for messages: "gpt-2, gpt2, ...".
std::string splitRuleNames();

}  // namespace firn::blob
