// Options that are numbers or lists of them, in decimal digits alone, with what was expected in the refusal.
// (CLI11 itself reads "010" as eight, drops gaps in lists, and lets a list swallow the arguments behind it.)
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/status.h"

namespace firn::tools {

/// The least and the largest value that an option takes.
struct NumberRange {
  int64_t least = 0;
  int64_t most = std::numeric_limits<int64_t>::max();
};

/// `text` as a decimal number in `range`; invalid_argument says what was found and expected.
Result<int64_t> parseNumber(const std::string& text, const NumberRange& range);
/// `text` as a decimal fraction from 0 to `most` ("0.7", "1e-3"); invalid_argument likewise.
Result<float> parseFraction(const std::string& text, float most);
/// "1,2,3", at least one number, no gaps.
Result<std::vector<int64_t>> parseNumberList(const std::string& text, const NumberRange& range);

namespace internal {

/// A value, or CLI11's way of refusing the option `name`.
template <typename T>
T valueOrThrow(Result<T> result, const std::string& name) {
  if (!result) throw CLI::ValidationError(name, result.status().message());
  return *std::move(result);
}

}  // namespace internal

/// Adds `name` to `app`: a number of `range` goes to `value`, which keeps its default without the option.
template <typename T>
CLI::Option* addNumber(CLI::App& app, const std::string& name, T& value, const std::string& help,
                       const NumberRange& range) {
  return app
      .add_option_function<std::string>(
          name,
          [&value, name, range](const std::string& text) {
            value = static_cast<T>(internal::valueOrThrow(parseNumber(text, range), name));
          },
          help)
      ->type_name("N");
}

/// The same for a fraction from 0 to `most`.
inline CLI::Option* addFraction(CLI::App& app, const std::string& name, float& value, const std::string& help,
                                float most) {
  return app
      .add_option_function<std::string>(
          name,
          [&value, name, most](const std::string& text) {
            value = internal::valueOrThrow(parseFraction(text, most), name);
          },
          help)
      ->type_name("X");
}

/// The same for a list.
template <typename T>
CLI::Option* addNumberList(CLI::App& app, const std::string& name, std::vector<T>& values, const std::string& help,
                           const NumberRange& range) {
  return app
      .add_option_function<std::string>(
          name,
          [&values, name, range](const std::string& text) {
            values.clear();
            for (const int64_t number : internal::valueOrThrow(parseNumberList(text, range), name)) {
              values.push_back(static_cast<T>(number));
            }
          },
          help)
      ->type_name("N,N,...");
}

}  // namespace firn::tools
