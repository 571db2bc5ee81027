// cpu.quantize against its definition in docs/arithmetic.md, on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cpu/arithmetic.h"
#include "kernels/test/cpu_test_data.h"

namespace firn::cpu::test {
namespace {

class QuantizeTest : public testing::TestWithParam<uint32_t> {
 protected:
  static CodeStorage run(InstructionSet isa, const std::vector<float>& x, uint32_t rows, uint32_t planes) {
    const auto columns = static_cast<uint32_t>(x.size() / rows);
    CodeStorage out(rows, columns, planes);
    kernels(isa).quantize({.in = {x.data(), columns}, .out = out.codes(), .rows = rows, .columns = columns});
    return out;
  }
};

INSTANTIATE_TEST_SUITE_P(Planes, QuantizeTest, testing::Values(1U, 2U),
                         [](const auto& info) { return "planes" + std::to_string(info.param); });

TEST_P(QuantizeTest, MatchesDefinitionOnEverySet) {
  const int maxCode = GetParam() == 1 ? kMaxCode1 : kMaxCode2;
  Random random(1);
  for (const uint32_t columns : {1U, 15U, 16U, 17U, 31U, 32U, 33U, 48U, 64U, 100U, 576U}) {
    const uint32_t rows = 3;
    const std::vector<float> x = random.extremes(size_t{rows} * columns);
    for (const InstructionSet isa : supportedSets()) {
      const CodeStorage out = run(isa, x, rows, GetParam());
      for (uint32_t i = 0; i < rows; ++i) {
        for (uint32_t g = 0; g < out.groupStride; ++g) {
          float magnitude = 0;
          for (uint32_t k = 32 * g; k < std::min(32 * g + 32, columns); ++k) {
            magnitude = std::max(magnitude, std::fabs(x[i * columns + k]));
          }
          const bool isZero = magnitude < kMinGroupMagnitude;
          const float scale = isZero ? 0 : magnitude / static_cast<float>(maxCode);
          ASSERT_EQ(out.scales[i * out.groupStride + g], scale);
          int32_t sum = 0;
          for (uint32_t k = 32 * g; k < 32 * g + 32; ++k) {
            const float value = k < columns ? x[i * columns + k] : 0;
            const float inverse = isZero ? 0 : static_cast<float>(maxCode) / magnitude;
            const int code = static_cast<int>(std::nearbyint(value * inverse));
            sum += code;
            const int8_t* stored = out.bytes.data() + i * out.rowStride + k;
            const int combined = GetParam() == 1 ? stored[0] : 256 * stored[0] + stored[out.planeStride];
            ASSERT_EQ(combined, code) << instructionSetName(isa) << " columns " << columns << " k " << k;
            // Half a code for rounding, 3 roundoffs of the largest for inverse, product and scale.
            const double bound = scale * (0.5 + 3.0 * maxCode * kRoundoff) + (isZero ? kMinGroupMagnitude : 0);
            ASSERT_LE(std::fabs(out.value(i, k) - value), bound);
          }
          ASSERT_EQ(out.sums[i * out.groupStride + g], sum);
        }
      }
    }
  }
}

TEST_P(QuantizeTest, LargestMagnitudeGetsTheLargestCode) {
  const int maxCode = GetParam() == 1 ? kMaxCode1 : kMaxCode2;
  for (const float magnitude : {kMinGroupMagnitude, 1e-20F, 0.3F, 1.0F, 3.0e38F}) {
    std::vector<float> x(64, magnitude / 3);
    x[5] = magnitude;
    x[40] = -magnitude;
    for (const InstructionSet isa : supportedSets()) {
      const CodeStorage out = run(isa, x, 1, GetParam());
      EXPECT_EQ(out.value(0, 5), maxCode * static_cast<double>(out.scales[0]));
      EXPECT_EQ(out.value(0, 40), -maxCode * static_cast<double>(out.scales[1]));
    }
  }
}

TEST_P(QuantizeTest, NanAndInfinityMakeTheGroupNanAndNoOther) {
  for (const float bad : {kNan, -kNan, kInf, -kInf}) {
    for (const size_t at : {0U, 15U, 16U, 31U}) {
      std::vector<float> x(96, 1.0F);
      x[32 + at] = bad;
      for (const InstructionSet isa : supportedSets()) {
        const CodeStorage out = run(isa, x, 1, GetParam());
        EXPECT_TRUE(std::isnan(out.scales[1]));
        EXPECT_EQ(out.sums[1], 0);
        for (size_t k = 32; k < 64; ++k) EXPECT_EQ(out.bytes[k], 0);
        EXPECT_FALSE(std::isnan(out.scales[0]) || std::isnan(out.scales[2]));
      }
    }
  }
}

TEST_P(QuantizeTest, LeavesOtherRowsAlone) {
  const std::vector<float> x(3 * 40, 1.0F);
  for (const InstructionSet isa : supportedSets()) {
    CodeStorage out(3, 40, GetParam());
    const CodeStorage before = out;
    kernels(isa).quantize({.in = {x.data(), 40}, .out = out.codes(), .rows = 2, .columns = 40});
    EXPECT_NE(out.bytes[64], before.bytes[64]);
    for (size_t k = 128; k < 192; ++k) EXPECT_EQ(out.bytes[k], before.bytes[k]);
    EXPECT_EQ(out.scales[4], before.scales[4]);
    EXPECT_EQ(out.sums[5], before.sums[5]);
  }
}

}  // namespace
}  // namespace firn::cpu::test
