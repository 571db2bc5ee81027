// The elementwise ops of the npu and npu.rms_norm: exact where they are, else against kernels/reference or double
// precision; the same bits on every instruction set and in both types of outputs.
#include <gtest/gtest.h>

#include <bit>
#include <functional>

#include "kernels/reference/rms_norm.h"
#include "kernels/reference/silu.h"
#include "kernels/reference/softcap.h"
#include "kernels/test/npu_test_data.h"

namespace firn::npu::test {
namespace {

constexpr uint64_t kRows = 3;
constexpr uint64_t kWidths[] = {1, 15, 16, 17, 33, 64, 101};

/// Three rows of random numbers, two elements apart.
struct Numbers {
  Numbers(uint64_t width, std::vector<float> values) : columns(width), data(std::move(values)) {}
  Numbers(uint64_t width, Random& random) : Numbers(width, random.extremes(kRows * (width + 2))) {}
  uint64_t stride() const { return columns + 2; }
  MatrixView<const float> view() const { return {data.data(), kRows, columns, stride()}; }
  MatrixView<float> out() { return {data.data(), kRows, columns, stride()}; }
  FloatView floats() { return {DType::kF32, data.data(), kRows, columns, stride()}; }
  reference::ConstMatrix matrix() const { return {data.data(), kRows, columns, stride()}; }
  reference::Matrix matrixOut() { return {data.data(), kRows, columns, stride()}; }

  uint64_t columns;
  std::vector<float> data;
};

/// `op` writes into a copy of `start`; every element of the rows is expected(i, j), the others are as they were.
void expectExact(const Numbers& start, const std::function<void(const NpuKernels&, Numbers&)>& op,
                 const std::function<float(size_t i, size_t j)>& expected) {
  for (const InstructionSet isa : supportedSets()) {
    Numbers out = start;
    op(kernelsOf(isa), out);
    for (size_t at = 0; at < out.data.size(); ++at) {
      const size_t j = at % out.stride();
      const float value = j < out.columns ? expected(at / out.stride(), j) : start.data[at];
      ASSERT_TRUE(isSame(out.data[at], value)) << cpu::instructionSetName(isa) << " " << at;
    }
  }
}

TEST(NpuElementwiseTest, OneOperationIsExact) {
  Random random(1);
  for (const uint64_t width : kWidths) {
    const Numbers a(width, random);
    const Numbers b(width, random);
    const auto at = [](const Numbers& x, size_t i, size_t j) { return x.data[i * x.stride() + j]; };
    const Numbers empty(width, std::vector<float>(a.data.size(), 777));
    expectExact(
        empty, [&](const NpuKernels& k, Numbers& out) { k.add({a.view(), b.view(), out.out()}); },
        [&](size_t i, size_t j) { return at(a, i, j) + at(b, i, j); });
    expectExact(
        a, [&](const NpuKernels& k, Numbers& out) { k.mul({out.view(), b.view(), out.out()}); },
        [&](size_t i, size_t j) { return at(a, i, j) * at(b, i, j); });
    expectExact(
        a, [&](const NpuKernels& k, Numbers& out) { k.bias({out.out(), b.data.data()}); },
        [&](size_t i, size_t j) { return at(a, i, j) + b.data[j]; });
    expectExact(
        a, [&](const NpuKernels& k, Numbers& out) { k.scale({out.view(), out.out(), 0.3F}); },
        [&](size_t i, size_t j) { return at(a, i, j) * 0.3F; });
    expectExact(
        a, [&](const NpuKernels& k, Numbers& out) { k.rescale({out.out(), b.data.data()}); },
        [&](size_t i, size_t j) { return at(a, i, j) * b.data[i]; });
  }
}

/// 400 thousand numbers: every sign, exponent and head of a mantissa, with tails around ties; all NaN payloads of f16.
TEST(NpuCastTest, RoundsAsF32ToF16) {
  std::vector<float> in;
  for (uint32_t head = 0; head < 65536; ++head) {
    for (const uint32_t tail : {0U, 1U, 0x0FFFU, 0x1000U, 0x1001U, 0x3000U, 0xFFFFU}) {
      in.push_back(std::bit_cast<float>(head << 16 | tail));
    }
  }
  for (const InstructionSet isa : supportedSets()) {
    std::vector<uint16_t> out(in.size());
    kernelsOf(isa).cast({{in.data(), 1, in.size(), in.size()}, {out.data(), 1, in.size(), in.size()}});
    for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], f32ToF16(in[i])) << std::bit_cast<uint32_t>(in[i]);
  }
}

/// Runs an op with an output of each type on every set: all agree with the first, f16 with its rounding.
Numbers sameOnAllSets(uint64_t width, const std::function<void(const NpuKernels&, const FloatView&)>& op) {
  Numbers first(width, std::vector<float>(kRows * (width + 2)));
  op(kernelsOf(InstructionSet::kPortable), first.floats());
  for (const InstructionSet isa : supportedSets()) {
    Numbers out(width, std::vector<float>(first.data.size()));
    op(kernelsOf(isa), out.floats());
    std::vector<uint16_t> halves(first.data.size());
    op(kernelsOf(isa), {DType::kF16, halves.data(), kRows, width, width + 2});
    for (size_t at = 0; at < halves.size(); ++at) {
      EXPECT_TRUE(isSame(out.data[at], first.data[at])) << cpu::instructionSetName(isa);
      EXPECT_TRUE(isSameHalf(halves[at], f32ToF16(first.data[at]))) << cpu::instructionSetName(isa);
    }
  }
  return first;
}

TEST(NpuSiluMulTest, IsThatOfTheReference) {
  Random random(2);
  for (const uint64_t width : kWidths) {
    const Numbers gate(width, random.normals(kRows * (width + 2), 10));
    const Numbers up(width, random);
    const Numbers out = sameOnAllSets(
        width, [&](const NpuKernels& k, const FloatView& view) { k.siluMul({gate.view(), up.view(), view}); });
    Numbers expected = gate;
    reference::silu({gate.matrix(), expected.matrixOut()});
    for (size_t at = 0; at < out.data.size(); ++at) {
      if (at % out.stride() >= width) continue;
      // Two exps of 1.5 ulp (3 roundoffs) each, and on either side a sum and a quotient; one product.
      const double value = static_cast<double>(expected.data[at]) * up.data[at];
      ASSERT_NEAR(out.data[at], value, 11 * kRoundoff * std::fabs(value) + 0x1p-149);
    }
  }
}

TEST(NpuGeluMulTest, IsTheTanhForm) {
  Random random(3);
  for (const uint64_t width : kWidths) {
    const Numbers gate(width, random.normals(kRows * (width + 2), 3));
    const Numbers up(width, random);
    const Numbers out = sameOnAllSets(
        width, [&](const NpuKernels& k, const FloatView& view) { k.geluMul({gate.view(), up.view(), view}); });
    for (size_t at = 0; at < out.data.size(); ++at) {
      if (at % out.stride() >= width) continue;
      const double g = gate.data[at];
      const double w = 2 * std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g);
      const double value = g / (1 + std::exp(-w)) * up.data[at];
      // docs/arithmetic.md, gelu_mul; and one more for the product.
      ASSERT_NEAR(out.data[at], value, (9 + 5 * std::fabs(w)) * kRoundoff * std::fabs(value) + 0x1p-149);
    }
  }
}

TEST(NpuSoftcapTest, IsThatOfTheReference) {
  Random random(4);
  for (const float cap : {30.0F, 50.0F, 0.7F}) {
    Numbers in(4000, random);
    for (size_t i = 0; i < 300; ++i) in.data[i] = static_cast<float>(i) * cap / 100;
    in.data[300] = kInf;
    in.data[301] = -kInf;
    in.data[302] = kNan;
    Numbers expected = in;
    reference::softcap({in.matrix(), expected.matrixOut(), cap});
    std::vector<float> portable;
    for (const InstructionSet isa : supportedSets()) {
      Numbers out = in;
      kernelsOf(isa).softcap({out.view(), out.out(), cap});
      if (portable.empty()) portable = out.data;
      for (size_t at = 0; at < out.data.size(); ++at) {
        ASSERT_TRUE(isSame(out.data[at], portable[at])) << cpu::instructionSetName(isa) << " " << in.data[at];
        if (std::isnan(in.data[at])) continue;
        // The header's 6, and 2 for tanh and the product of the reference; the quotient is the same.
        ASSERT_NEAR(out.data[at], expected.data[at], 8 * kRoundoff * std::fabs(expected.data[at]) + 0x1p-148)
            << in.data[at];
      }
    }
  }
}

TEST(NpuRmsNormTest, IsThatOfTheReference) {
  Random random(5);
  for (const uint64_t width : kWidths) {
    const Numbers in(width, random);
    const std::vector<float> weight = random.normals(width);
    const Numbers out = sameOnAllSets(
        width, [&](const NpuKernels& k, const FloatView& view) { k.rmsNorm({in.view(), weight.data(), view, 1e-5F}); });
    Numbers expected = in;
    reference::rmsNorm({in.matrix(),
                        {DType::kF32, reinterpret_cast<const std::byte*>(weight.data()), 1, width, width},
                        expected.matrixOut(),
                        1e-5F});
    for (size_t at = 0; at < out.data.size(); ++at) {
      if (at % out.stride() >= width) continue;
      // width / 16 + 5 roundings of squares and 2 more, under a root; 3 of the rest on either side.
      const double bound = ((static_cast<double>(width) / 16 + 7) / 2 + 8) * kRoundoff;
      ASSERT_NEAR(out.data[at], expected.data[at], bound * std::fabs(expected.data[at]) + 0x1p-148);
    }
  }
}

TEST(NpuRmsNormTest, OutMayBeIn) {
  Random random(6);
  const std::vector<float> weight = random.normals(70);
  const Numbers in(70, random);
  for (const InstructionSet isa : supportedSets()) {
    Numbers apart(70, std::vector<float>(in.data.size()));
    Numbers same = in;
    kernelsOf(isa).rmsNorm({in.view(), weight.data(), apart.floats(), 1e-6F});
    kernelsOf(isa).rmsNorm({same.view(), weight.data(), same.floats(), 1e-6F});
    for (size_t at = 0; at < in.data.size(); ++at) {
      if (at % in.stride() < 70) ASSERT_EQ(apart.data[at], same.data[at]);
    }
  }
}

}  // namespace
}  // namespace firn::npu::test
