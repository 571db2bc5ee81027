// embed, rms_norm, rope, silu_mul, gelu_mul, scale, add_partials and copy: oracles in double precision or
// exact, the same bits on every instruction set, nothing written outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "kernels/test/cpu_test_data.h"

namespace firn::cpu::test {
namespace {

constexpr float kCanary = 777.0F;
constexpr uint32_t kWidths[] = {1, 2, 15, 16, 17, 31, 32, 33, 64, 100};

/// Checks that elements at and beyond `columns` of each row, and rows beyond, still hold the canary.
void expectCanaries(const std::vector<float>& out, size_t stride, uint32_t rows, uint32_t columns) {
  for (size_t at = 0; at < out.size(); ++at) {
    if (at / stride >= rows || at % stride >= columns) ASSERT_EQ(out[at], kCanary) << "at " << at;
  }
}

TEST(EmbedTest, GathersExactRows) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBf16, DType::kQ4_0, DType::kQ4_1, DType::kQ8_0,
                           DType::kQ5_0, DType::kQ5_1, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K}) {
    Random random(3);
    const Matrix table = randomMatrix(type, 21, 96, random);
    const std::vector<int32_t> ids{20, 0, 15, 16, 20};
    for (const InstructionSet isa : supportedSets()) {
      std::vector<float> out(6 * 100, kCanary);
      kernels(isa).embed({.ids = ids.data(),
                          .table = table.packed.data(),
                          .type = type,
                          .rows = 5,
                          .vocab = 21,
                          .columns = 96,
                          .out = {out.data(), 100}});
      for (size_t i = 0; i < 5; ++i) {
        const auto row = std::span(table.values).subspan(static_cast<size_t>(ids[i]) * 96, 96);
        EXPECT_EQ(firstDifference(row, std::span(out).subspan(i * 100, 96)), -1);
      }
      expectCanaries(out, 100, 5, 96);
    }
  }
}

TEST(RmsNormTest, WithinBoundAndSameBits) {
  Random random(7);
  for (const uint32_t columns : kWidths) {
    const size_t stride = columns + 3;
    const std::vector<float> in = random.normals(4 * stride);
    const std::vector<float> weight = random.normals(columns);
    std::vector<float> portable;
    for (const InstructionSet isa : supportedSets()) {
      std::vector<float> out(4 * stride, kCanary);
      kernels(isa).rmsNorm({.in = {in.data(), stride},
                            .weight = weight.data(),
                            .out = {out.data(), stride},
                            .rows = 3,
                            .columns = columns,
                            .epsilon = 1e-5F});
      if (portable.empty()) portable = out;
      ASSERT_EQ(firstDifference(portable, out), -1) << columns;
      expectCanaries(out, stride, 3, columns);
      for (size_t i = 0; i < 3; ++i) {
        double squares = 0;
        for (uint32_t j = 0; j < columns; ++j) squares += std::pow(in[i * stride + j], 2.0);
        for (uint32_t j = 0; j < columns; ++j) {
          const double exact = in[i * stride + j] / std::sqrt(squares / columns + 1e-5F) * weight[j];
          // At most columns / 16 + 8 roundings under a root, and 4 more.
          ASSERT_NEAR(out[i * stride + j], exact, std::fabs(exact) * (columns / 32.0 + 10) * kRoundoff);
        }
      }
    }
  }
}

TEST(RopeTest, RotatesBothPairings) {
  Random random(9);
  for (const uint32_t dims : {2U, 10U, 32U, 34U, 64U, 100U}) {
    for (const bool halfSplit : {false, true}) {
      const uint32_t headDim = dims + 6;
      const std::vector<float> before = random.normals(size_t{3} * 2 * headDim);
      const std::vector<float> table = random.normals(size_t{5} * dims);
      const std::vector<int32_t> positions{4, 0, 2};
      std::vector<float> portable;
      for (const InstructionSet isa : supportedSets()) {
        std::vector<float> x = before;
        kernels(isa).rope({.x = x.data(),
                           .rowStride = size_t{2} * headDim,
                           .headStride = headDim,
                           .positions = positions.data(),
                           .table = table.data(),
                           .tableStride = dims,
                           .rows = 2,
                           .heads = 2,
                           .dims = dims,
                           .halfSplit = halfSplit});
        if (portable.empty()) portable = x;
        ASSERT_EQ(firstDifference(portable, x), -1);
        std::vector<float> expected = before;
        for (uint32_t head = 0; head < 4; ++head) {
          for (uint32_t pair = 0; pair < dims / 2; ++pair) {
            const size_t a = head * headDim + (halfSplit ? pair : 2 * pair);
            const size_t b = a + (halfSplit ? dims / 2 : 1);
            const float* angle = table.data() + static_cast<size_t>(positions[head / 2]) * dims + size_t{2} * pair;
            expected[a] = std::fma(before[a], angle[0], -(before[b] * angle[1]));
            expected[b] = std::fma(before[a], angle[1], before[b] * angle[0]);
          }
        }
        ASSERT_EQ(firstDifference(expected, x), -1) << dims << " " << halfSplit;
      }
    }
  }
}

/// A kernel act(gate) * up with act(g) = g / (1 + exp(-exponent(g))).
struct Gated {
  const char* name;
  void (*CpuKernels::*run)(const GatedArgs&);
  double (*exponent)(double gate);
  double exponentUnits;  ///< rounding errors of the exponent: each moves the exponential by as much of its own
};

const Gated kGated[] = {{"silu_mul", &CpuKernels::siluMul, [](double g) { return g; }, 0},
                        {"gelu_mul", &CpuKernels::geluMul,
                         [](double g) { return 2 * std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g); }, 5}};

TEST(GatedTest, WithinBoundAndSameBits) {
  for (const Gated& gated : kGated) {
    Random random(13);
    for (const uint32_t columns : kWidths) {
      const size_t stride = columns + 1;
      std::vector<float> gate = random.normals(2 * stride, gated.exponentUnits == 0 ? 10 : 3);
      const std::vector<float> up = random.normals(2 * stride);
      gate[0] = 0;
      std::vector<float> portable;
      for (const InstructionSet isa : supportedSets()) {
        std::vector<float> out(2 * stride, kCanary);
        (kernels(isa).*gated.run)({.gate = {gate.data(), stride},
                                   .up = {up.data(), stride},
                                   .out = {out.data(), stride},
                                   .rows = 2,
                                   .columns = columns});
        if (portable.empty()) portable = out;
        ASSERT_EQ(firstDifference(portable, out), -1) << gated.name;
        expectCanaries(out, stride, 2, columns);
        for (size_t at = 0; at < out.size(); ++at) {
          if (at % stride == columns) continue;
          const double exponent = gated.exponent(gate[at]);
          const double exact = gate[at] / (1 + std::exp(-exponent)) * up[at];
          const double units = 8 + gated.exponentUnits * std::fabs(exponent);
          ASSERT_NEAR(out[at], exact, std::fabs(exact) * units * kRoundoff + 1e-36) << gated.name;
        }
      }
    }
  }
}

TEST(GatedTest, ExtremeGates) {
  const std::vector<float> gate{kInf, kNan, 200, -200, -3e38F, 3e38F};
  const std::vector<float> up(6, 1.0F);
  for (const Gated& gated : kGated) {
    for (const InstructionSet isa : supportedSets()) {
      std::vector<float> out(6);
      (kernels(isa).*
       gated.run)({.gate = {gate.data(), 6}, .up = {up.data(), 6}, .out = {out.data(), 6}, .rows = 1, .columns = 6});
      EXPECT_EQ(out[0], kInf) << gated.name;
      EXPECT_TRUE(std::isnan(out[1])) << gated.name;
      EXPECT_EQ(std::vector(out.begin() + 2, out.end()), (std::vector<float>{200, 0, 0, 3e38F})) << gated.name;
    }
  }
}

TEST(ScaleTest, MultipliesRowsAndNothingElse) {
  Random random(16);
  for (const uint32_t columns : kWidths) {
    const size_t stride = columns + 2;
    const std::vector<float> in = random.extremes(3 * stride);
    for (const InstructionSet isa : supportedSets()) {
      std::vector<float> out(3 * stride, kCanary);
      kernels(isa).scale({.in = {in.data(), stride},
                          .out = {out.data(), stride},
                          .rows = 2,
                          .columns = columns,
                          .factor = 25.298222F});
      expectCanaries(out, stride, 2, columns);
      for (size_t i = 0; i < 2; ++i) {
        for (uint32_t j = 0; j < columns; ++j) {
          ASSERT_TRUE(isSame(out[i * stride + j], in[i * stride + j] * 25.298222F));
        }
      }
    }
  }
}

TEST(AddPartialsTest, AddsInLaneOrder) {
  Random random(15);
  for (const uint32_t columns : kWidths) {
    for (const uint32_t lanes : {1U, 2U, 3U, 5U}) {
      const std::vector<float> x = random.extremes(size_t{2} * columns);
      const std::vector<float> partials = random.extremes(size_t{lanes} * 2 * columns);
      for (const InstructionSet isa : supportedSets()) {
        std::vector<float> out = x;
        kernels(isa).addPartials({.x = {out.data(), columns},
                                  .partials = {partials.data(), columns},
                                  .partialStride = size_t{2} * columns,
                                  .partialCount = lanes,
                                  .rows = 2,
                                  .columns = columns});
        for (size_t at = 0; at < x.size(); ++at) {
          float total = partials[at];
          for (uint32_t lane = 1; lane < lanes; ++lane) total += partials[lane * x.size() + at];
          ASSERT_TRUE(isSame(out[at], x[at] + total));
        }
      }
    }
  }
}

TEST(CopyTest, CopiesRowsAndNothingElse) {
  Random random(17);
  for (const uint32_t columns : kWidths) {
    const size_t stride = columns + 2;
    const std::vector<float> in = random.extremes(3 * stride);
    for (const InstructionSet isa : supportedSets()) {
      std::vector<float> out(3 * stride, kCanary);
      kernels(isa).copy({.in = {in.data(), stride}, .out = {out.data(), stride}, .rows = 2, .columns = columns});
      expectCanaries(out, stride, 2, columns);
      for (size_t i = 0; i < 2; ++i) {
        const auto expected = std::span(in).subspan(i * stride, columns);
        EXPECT_EQ(firstDifference(expected, std::span(out).subspan(i * stride, columns)), -1);
      }
    }
  }
}

/// What may work in place gives the bits that it gives elsewhere, and touches nothing behind its rows.
TEST(InPlaceTest, GivesTheSameBits) {
  struct Op {
    const char* name;
    std::function<void(const CpuKernels&, const float* in, float* out, uint32_t columns)> run;
  };
  Random random(19);
  for (const uint32_t columns : kWidths) {
    const size_t stride = columns + 2;
    const std::vector<float> in = random.normals(3 * stride, 3);
    const std::vector<float> other = random.normals(3 * stride);
    const auto gated = [&](void (*CpuKernels::*kernel)(const GatedArgs&), bool outIsUp) {
      return [&, kernel, outIsUp](const CpuKernels& table, const float* x, float* out, uint32_t n) {
        const ConstRows a{x, stride};
        const ConstRows b{other.data(), stride};
        (table.*
         kernel)({.gate = outIsUp ? b : a, .up = outIsUp ? a : b, .out = {out, stride}, .rows = 2, .columns = n});
      };
    };
    const Op ops[] = {
        {"rms_norm",
         [&](const CpuKernels& table, const float* x, float* out, uint32_t n) {
           table.rmsNorm({.in = {x, stride},
                          .weight = other.data(),
                          .out = {out, stride},
                          .rows = 2,
                          .columns = n,
                          .epsilon = 1e-5F});
         }},
        {"silu_mul gate", gated(&CpuKernels::siluMul, false)},
        {"silu_mul up", gated(&CpuKernels::siluMul, true)},
        {"gelu_mul gate", gated(&CpuKernels::geluMul, false)},
        {"gelu_mul up", gated(&CpuKernels::geluMul, true)},
        {"scale",
         [&](const CpuKernels& table, const float* x, float* out, uint32_t n) {
           table.scale({.in = {x, stride}, .out = {out, stride}, .rows = 2, .columns = n, .factor = 1.7F});
         }},
        {"copy", [&](const CpuKernels& table, const float* x, float* out, uint32_t n) {
           table.copy({.in = {x, stride}, .out = {out, stride}, .rows = 2, .columns = n});
         }}};
    for (const Op& op : ops) {
      for (const InstructionSet isa : supportedSets()) {
        std::vector<float> apart = in;  // so that what is not written is that of the input
        op.run(kernels(isa), in.data(), apart.data(), columns);
        std::vector<float> inPlace = in;
        op.run(kernels(isa), inPlace.data(), inPlace.data(), columns);
        ASSERT_EQ(firstDifference(apart, inPlace), -1) << op.name << " " << instructionSetName(isa) << " " << columns;
      }
    }
  }
}

TEST(InstructionSetsTest, NamesRoundTrip) {
  for (const InstructionSet isa : {InstructionSet::kPortable, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    EXPECT_EQ(instructionSetFromName(instructionSetName(isa)), isa);
  }
  EXPECT_EQ(instructionSetFromName("avx1024"), std::nullopt);
  EXPECT_TRUE(isSupported(InstructionSet::kPortable));
  EXPECT_TRUE(isSupported(bestInstructionSet()));
  for (const InstructionSet isa : supportedSets()) EXPECT_EQ(kernels(isa).isa, isa);
}

}  // namespace
}  // namespace firn::cpu::test
