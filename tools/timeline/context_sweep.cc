#include "tools/timeline/context_sweep.h"

#include <algorithm>

#include "base/concat.h"
#include "base/quote.h"
#include "tools/number_option.h"

namespace firn::tools {
namespace {

/// The lengths of "FIRST:LAST:xFACTOR" or "FIRST:LAST:+STEP".
Result<std::vector<uint32_t>> parseRange(const std::string& text, uint32_t most) {
  const size_t second = text.find(':', text.find(':') + 1);
  const char kind = second == std::string::npos || second + 1 >= text.size() ? '\0' : text[second + 1];
  if (kind != 'x' && kind != '+') {
    return invalidArgument(concat("found ", firn::quoted(text), ", expected FIRST:LAST:xFACTOR or FIRST:LAST:+STEP"));
  }
  const size_t first = text.find(':');
  const NumberRange sizes = {1, most};
  FIRN_ASSIGN_OR_RETURN(const int64_t begin, parseNumber(text.substr(0, first), sizes));
  FIRN_ASSIGN_OR_RETURN(const int64_t end, parseNumber(text.substr(first + 1, second - first - 1), sizes));
  FIRN_ASSIGN_OR_RETURN(const int64_t step, parseNumber(text.substr(second + 2), {kind == 'x' ? 2 : 1, most}));
  std::vector<uint32_t> contexts;
  for (int64_t context = begin; context <= end; context = kind == 'x' ? context * step : context + step) {
    if (contexts.size() == kMostContexts) break;
    contexts.push_back(static_cast<uint32_t>(context));
  }
  if (contexts.empty()) return invalidArgument(concat("found ", begin, ":", end, ": the first is above the last"));
  const int64_t next = kind == 'x' ? contexts.back() * step : contexts.back() + step;
  if (next <= end) return invalidArgument(concat("found more than ", kMostContexts, " lengths; take a larger step"));
  return contexts;
}

}  // namespace

Result<std::vector<uint32_t>> parseContexts(const std::string& text, uint32_t most) {
  if (text.find(':') != std::string::npos) return parseRange(text, most);
  FIRN_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, parseNumberList(text, {1, most}));
  std::vector<uint32_t> contexts;
  for (const int64_t number : numbers) contexts.push_back(static_cast<uint32_t>(number));
  std::ranges::sort(contexts);
  const auto repeated = std::ranges::unique(contexts);
  contexts.erase(repeated.begin(), repeated.end());
  if (contexts.size() > kMostContexts) {
    return invalidArgument(concat("found ", contexts.size(), " lengths, expected at most ", kMostContexts));
  }
  return contexts;
}

}  // namespace firn::tools
