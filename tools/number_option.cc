#include "tools/number_option.h"

#include <charconv>
#include <cmath>

#include "base/concat.h"

namespace firn::tools {

Result<int64_t> parseNumber(const std::string& text, const NumberRange& range) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool isNumber = error == std::errc() && end == text.data() + text.size();
  if (!isNumber || number < range.least || number > range.most) {
    const bool isOpen = range.most == std::numeric_limits<int64_t>::max() && error != std::errc::result_out_of_range;
    return invalidArgument("found '" + text + "', expected a whole number of at least " + std::to_string(range.least) +
                           (isOpen ? "" : " and at most " + std::to_string(range.most)));
  }
  return number;
}

Result<float> parseFraction(const std::string& text, float most) {
  float number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool isNumber = error == std::errc() && end == text.data() + text.size();
  if (isNumber && number >= 0 && number <= most) return number;
  return invalidArgument(concat("found '", text, "', expected a number from 0 to ", std::llround(most), ", like 0.7"));
}

Result<std::vector<int64_t>> parseNumberList(const std::string& text, const NumberRange& range) {
  std::vector<int64_t> numbers;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    FIRN_ASSIGN_OR_RETURN(const int64_t number, parseNumber(text.substr(begin, end - begin), range));
    numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

}  // namespace firn::tools
