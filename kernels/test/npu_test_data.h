// What the tests of the npu ops share: f16 numbers, and the definition of a lane sum as docs/arithmetic.md has it.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "kernels/npu/kernels.h"
#include "kernels/test/cpu_test_data.h"

namespace firn::npu::test {

using cpu::test::isSame;
using cpu::test::kInf;
using cpu::test::kNan;
using cpu::test::kRoundoff;
using cpu::test::Random;
using cpu::test::supportedSets;

/// The unit roundoff of f16, and half of its smallest number.
inline constexpr double kHalfRoundoff = 0x1p-11;
inline constexpr double kHalfTiny = 0x1p-25;

inline std::vector<uint16_t> halvesOf(std::span<const float> values) {
  std::vector<uint16_t> halves;
  for (const float value : values) halves.push_back(f32ToF16(value));
  return halves;
}

/// Halves of many magnitudes, subnormal and zero among them; finite.
inline std::vector<uint16_t> randomHalves(size_t count, Random& random) { return halvesOf(random.extremes(count)); }

inline bool isSameHalf(uint16_t a, uint16_t b) {
  return a == b || (std::isnan(f16ToF32(a)) && std::isnan(f16ToF32(b)));
}

/// 16 accumulators from +0 on, term i into the one of i mod 16, folded 8, 4, 2 and 1 apart.
template <typename Term>
float laneSum(size_t count, const Term& term) {
  std::array<float, 16> lanes{};
  for (size_t i = 0; i < count; ++i) lanes[i % 16] += term(i);
  for (size_t step = 8; step > 0; step /= 2) {
    for (size_t i = 0; i < step; ++i) lanes[i] += lanes[i + step];
  }
  return lanes[0];
}

}  // namespace firn::npu::test
