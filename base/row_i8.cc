#include "base/row_i8.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace firn {

float quantizeRowI8(std::span<const float> values, std::span<int8_t> codes) {
  constexpr float kLargestCode = 127;
  constexpr float kSmallestMagnitude = 0x1p-100F;
  float largest = 0;
  bool isFinite = true;
  for (const float value : values) {
    isFinite = isFinite && std::isfinite(value);
    largest = std::max(largest, std::fabs(value));
  }
  if (!isFinite || largest < kSmallestMagnitude) {
    std::fill_n(codes.begin(), values.size(), int8_t{0});
    return isFinite ? 0 : std::numeric_limits<float>::quiet_NaN();
  }
  const float inverse = kLargestCode / largest;
  for (size_t i = 0; i < values.size(); ++i) codes[i] = static_cast<int8_t>(std::nearbyint(values[i] * inverse));
  return largest / kLargestCode;
}

}  // namespace firn
