// A real number in a message: std::to_string would print 1e-38 as 0.000000.
#pragma once

#include <cstdio>
#include <string>

namespace firn {

/// `value` in six digits, with an exponent where that is shorter: "0.5", "1e-38", "inf".
inline std::string realText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace firn
