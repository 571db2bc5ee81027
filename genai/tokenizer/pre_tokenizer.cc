#include "genai/tokenizer/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace firn::genai {
namespace {

using blob::SplitRule;

// \s of the expressions' own engines is Unicode's White_Space; PCRE2's \s has U+180E besides. So spaces are spelled
// out: U+0009 to U+000D, U+0085 and \p{Z} are exactly White_Space.
#define FIRN_SPACE R"(\t-\r\x{85}\p{Z})"

// The tokenizer of GPT-2 (encoder.py of its release, 2019).
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^)" FIRN_SPACE R"(\p{L}\p{N}]+|[)" FIRN_SPACE
    R"(]+(?![^)" FIRN_SPACE R"(])|[)" FIRN_SPACE R"(]+)";

// Llama 3's (its tokenizer.json), and Qwen2's (tokenization_qwen2.py of its release), which takes each digit alone.
#define FIRN_LLAMA3_PATTERN(numbers)                                                                             \
  R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)" numbers R"(| ?[^)" FIRN_SPACE                      \
  R"(\p{L}\p{N}]+[\r\n]*|[)" FIRN_SPACE R"(]*[\r\n]+|[)" FIRN_SPACE R"(]+(?![^)" FIRN_SPACE R"(])|[)" FIRN_SPACE \
  R"(]+)"
constexpr std::string_view kLlama3Pattern = FIRN_LLAMA3_PATTERN(R"(\p{N}{1,3})");
constexpr std::string_view kQwen2Pattern = FIRN_LLAMA3_PATTERN(R"(\p{N})");
#undef FIRN_LLAMA3_PATTERN
#undef FIRN_SPACE

// Each digit alone, as the Digits pre-tokenizer of tokenizer.json does.
constexpr std::string_view kDigitPattern = R"(\p{N})";

const PreTokenizerRow kRows[] = {
    {.rule = SplitRule::kGpt2, .patterns = {kGpt2Pattern}, .composes = false, .ignoreMerges = false, .addBos = false},
    {.rule = SplitRule::kSmollm,
     .patterns = {kDigitPattern, kGpt2Pattern},
     .composes = false,
     .ignoreMerges = false,
     .addBos = false},
    {.rule = SplitRule::kLlama3, .patterns = {kLlama3Pattern}, .composes = false, .ignoreMerges = true, .addBos = true},
    {.rule = SplitRule::kQwen2, .patterns = {kQwen2Pattern}, .composes = true, .ignoreMerges = false, .addBos = false},
};

struct CodeDeleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct MatchDeleter {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};
struct ContextDeleter {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

}  // namespace

struct PreTokenizer::Pattern {
  std::unique_ptr<pcre2_code, CodeDeleter> code;
};

/// What the expressions of one split work with, made once for it.
struct PreTokenizer::Call {
  pcre2_match_context* context;
  std::span<const std::unique_ptr<pcre2_match_data, MatchDeleter>> matches;  ///< one for each expression
  const Visitor& visit;
};

Result<const PreTokenizerRow*> findPreTokenizer(std::string_view name) {
  const std::optional<SplitRule> rule = blob::splitRuleFromName(name);
  for (const PreTokenizerRow& row : kRows) {
    if (row.rule == rule) return &row;
  }
  return unsupported("unsupported pre-tokenizer '" + std::string(name) + "'; firn knows " + blob::splitRuleNames());
}

Result<PreTokenizer> PreTokenizer::make(const PreTokenizerRow& row) {
  std::vector<Pattern> patterns;
  for (const std::string_view pattern : row.patterns) {
    int error = 0;
    size_t where = 0;
    pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                     PCRE2_UTF | PCRE2_UCP, &error, &where, nullptr);
    if (code == nullptr) {
      return internalError("pre-tokenizer: PCRE2 error " + std::to_string(error) + " at " + std::to_string(where) +
                           " of " + std::string(pattern));
    }
    patterns.push_back({std::unique_ptr<pcre2_code, CodeDeleter>(code)});
    // Without a JIT for this machine the interpreter gives the same matches.
    (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  }
  return PreTokenizer(std::move(patterns));
}

PreTokenizer::PreTokenizer(std::vector<Pattern> patterns) : patterns_(std::move(patterns)) {}
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

Status PreTokenizer::split(std::string_view text, const Visitor& visit) const {
  const std::unique_ptr<pcre2_match_context, ContextDeleter> context(pcre2_match_context_create(nullptr));
  std::vector<std::unique_ptr<pcre2_match_data, MatchDeleter>> matches;
  for (size_t i = 0; i < patterns_.size(); ++i) matches.emplace_back(pcre2_match_data_create(1, nullptr));
  if (context == nullptr || std::ranges::any_of(matches, [](const auto& match) { return match == nullptr; })) {
    return resourceExhausted("pre-tokenizer: no memory for a match");
  }
  // The expressions are linear, so a limit on their steps would be a limit on the text.
  pcre2_set_match_limit(context.get(), UINT32_MAX);
  return splitFrom(0, text, {context.get(), matches, visit});
}

Status PreTokenizer::splitFrom(size_t pattern, std::string_view text, const Call& call) const {
  if (pattern == patterns_.size()) {
    call.visit(text);
    return Status::ok();
  }
  // One for each expression: those after this one run before it is asked for its next match.
  pcre2_match_data* match = call.matches[pattern].get();
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t done = 0;
  while (done < text.size()) {
    const int rc =
        pcre2_match(patterns_[pattern].code.get(), subject, text.size(), done, PCRE2_NO_UTF_CHECK, match, call.context);
    if (rc == PCRE2_ERROR_NOMATCH) break;
    if (rc < 0) return resourceExhausted("pre-tokenizer: PCRE2 error " + std::to_string(rc) + " while splitting text");
    const size_t* ends = pcre2_get_ovector_pointer(match);
    if (ends[1] <= ends[0]) return internalError("pre-tokenizer: an expression matched nothing");
    if (ends[0] > done) FIRN_RETURN_IF_ERROR(splitFrom(pattern + 1, text.substr(done, ends[0] - done), call));
    FIRN_RETURN_IF_ERROR(splitFrom(pattern + 1, text.substr(ends[0], ends[1] - ends[0]), call));
    done = ends[1];
  }
  if (done == text.size()) return Status::ok();
  return splitFrom(pattern + 1, text.substr(done), call);
}

}  // namespace firn::genai
