#include "blob/split_rule.h"

#include "base/joined.h"

namespace firn::blob {

namespace {

struct NamedRule {
  std::string_view name;
  SplitRule rule;
};

/// Only names whose tokenizer.json is known to have that rule, with its normalizer, which a GGUF does not record: mpt
/// or olmo split as GPT-2 but compose characters first.
constexpr NamedRule kRules[] = {
    {"gpt-2", SplitRule::kGpt2},      {"gpt2", SplitRule::kGpt2},        {"default", SplitRule::kGpt2},
    {"phi-2", SplitRule::kGpt2},      {"smollm", SplitRule::kSmollm},    {"starcoder", SplitRule::kSmollm},
    {"refact", SplitRule::kSmollm},   {"llama-bpe", SplitRule::kLlama3}, {"llama3", SplitRule::kLlama3},
    {"llama-v3", SplitRule::kLlama3}, {"qwen2", SplitRule::kQwen2},
};

}  // namespace

std::optional<SplitRule> splitRuleFromName(std::string_view name) {
  if (name.empty()) return SplitRule::kGpt2;
  for (const NamedRule& known : kRules) {
    if (known.name == name) return known.rule;
  }
  return std::nullopt;
}

std::string splitRuleNames() { return joined(kRules, ", ", &NamedRule::name); }

}  // namespace firn::blob
