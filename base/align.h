// Rounding up to a multiple.
#pragma once

#include <cassert>
#include <concepts>
#include <limits>
#include <type_traits>

namespace firn {

/// `value`, not negative, rounded up to a multiple of `multiple` > 0. `value` + `multiple` - 1 must fit into T: who
/// takes sizes from a file bounds them first.
template <std::integral T>
constexpr T roundUp(T value, std::type_identity_t<T> multiple) {
  assert(value >= 0 && value <= std::numeric_limits<T>::max() - (multiple - 1));
  return (value + (multiple - 1)) / multiple * multiple;
}

}  // namespace firn
