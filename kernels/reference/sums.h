// The order in which the reference ops add up: 16 partial sums, element i into sum i mod 16, ascending, then folded
// 16 -> 8 -> 4 -> 2 -> 1. Plain fp32 without fused multiply-add; it lets a compiler use vectors, and its error grows
// with n / 16 instead of n. Not the arithmetic of the cpu target (docs/arithmetic.md).
#pragma once

#include <array>
#include <cstdint>

namespace firn::reference {

inline constexpr uint64_t kPartialSums = 16;

/// Folds the upper half onto the lower one until one value is left.
template <typename T>
T foldSums(std::array<T, kPartialSums>& sums) {
  for (uint64_t width = kPartialSums / 2; width > 0; width /= 2) {
    for (uint64_t i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  return sums[0];
}

/// sum of a[i] * b[i] over i in [0, n), in fp32.
inline float dot(const float* a, const float* b, uint64_t n) {
  std::array<float, kPartialSums> sums{};
  uint64_t i = 0;
  for (; i + kPartialSums <= n; i += kPartialSums) {
    for (uint64_t lane = 0; lane < kPartialSums; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (uint64_t lane = 0; i + lane < n; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  return foldSums(sums);
}

}  // namespace firn::reference
