// npu.matmul, npu.matmul_groups, npu.accumulate and npu.group_sums: every instruction set against the definition, with
// ==, and that against sums in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "kernels/test/npu_test_data.h"

namespace firn::npu::test {
namespace {

constexpr float kCanary = 777;

struct Shape {
  uint64_t m, n, k;
};
constexpr Shape kShapes[] = {{1, 1, 1},    {1, 16, 16},   {1, 17, 31}, {1, 50, 576}, {2, 3, 15},
                             {3, 5, 64},   {4, 4, 48},    {5, 33, 17}, {9, 70, 100}, {13, 2, 300},
                             {64, 20, 33}, {17, 64, 257}, {6, 15, 0},  {7, 130, 40}};

/// Operands with gaps of NaN between the rows, which nothing may read.
struct Problem {
  Problem(const Shape& sizes, Random& random) : shape(sizes), a(padded(sizes.m, random)), w(padded(sizes.n, random)) {}

  std::vector<uint16_t> padded(uint64_t rows, Random& random) const {
    std::vector<uint16_t> data(rows * stride(), 0x7E00);
    for (uint64_t i = 0; i < rows; ++i) {
      const std::vector<uint16_t> row = randomHalves(shape.k, random);
      std::ranges::copy(row, data.begin() + static_cast<ptrdiff_t>(i * stride()));
    }
    return data;
  }
  uint64_t stride() const { return shape.k + 3; }
  MatrixView<const uint16_t> rows() const { return {a.data(), shape.m, shape.k, stride()}; }
  MatmulWeights weights() const { return {w.data(), stride(), 1}; }
  float product(uint64_t i, uint64_t n, uint64_t k) const {
    return f16ToF32(a[i * stride() + k]) * f16ToF32(w[n * stride() + k]);
  }
  float expected(uint64_t i, uint64_t n) const {
    return laneSum(shape.k, [&](size_t k) { return product(i, n, k); });
  }
  /// The weights k by n, with rows of NaN-filled ends.
  std::vector<uint16_t> turned() const {
    std::vector<uint16_t> data(shape.k * (shape.n + 5), 0x7E00);
    for (uint64_t n = 0; n < shape.n; ++n) {
      for (uint64_t k = 0; k < shape.k; ++k) data[k * (shape.n + 5) + n] = w[n * stride() + k];
    }
    return data;
  }

  Shape shape;
  std::vector<uint16_t> a;
  std::vector<uint16_t> w;
};

struct FloatOut {
  explicit FloatOut(const Shape& shape) : rows(shape.m), columns(shape.n), data(rows * (columns + 2), kCanary) {}
  FloatView view() { return {DType::kF32, data.data(), rows, columns, columns + 2}; }
  float at(uint64_t i, uint64_t n) const { return data[i * (columns + 2) + n]; }
  bool isGapWhole() const {
    for (size_t at = 0; at < data.size(); ++at) {
      if (at % (columns + 2) >= columns && data[at] != kCanary) return false;
    }
    return true;
  }

  uint64_t rows;
  uint64_t columns;
  std::vector<float> data;
};

TEST(NpuMatmulTest, EverySetGivesTheDefinition) {
  Random random(1);
  for (const Shape& shape : kShapes) {
    const Problem problem(shape, random);
    for (const InstructionSet isa : supportedSets()) {
      FloatOut out(shape);
      kernelsOf(isa).matmul({.a = problem.rows(), .w = problem.weights(), .out = out.view()});
      EXPECT_TRUE(out.isGapWhole());
      for (uint64_t i = 0; i < shape.m; ++i) {
        for (uint64_t n = 0; n < shape.n; ++n) {
          ASSERT_TRUE(isSame(out.at(i, n), problem.expected(i, n)))
              << cpu::instructionSetName(isa) << " " << shape.m << " " << shape.n << " " << shape.k << ": "
              << out.at(i, n);
        }
      }
    }
  }
}

TEST(NpuMatmulTest, DefinitionIsWithinItsBound) {
  Random random(2);
  for (const Shape& shape : kShapes) {
    const Problem problem(shape, random);
    for (uint64_t n = 0; n < shape.n; ++n) {
      double exact = 0;
      double magnitude = 0;
      for (uint64_t k = 0; k < shape.k; ++k) {
        exact += static_cast<double>(problem.product(0, n, k));
        magnitude += std::fabs(problem.product(0, n, k));
      }
      // A term is in at most k / 16 + 1 sums of its lane and 4 of the fold.
      EXPECT_NEAR(problem.expected(0, n), exact, (static_cast<double>(shape.k) / 16 + 6) * kRoundoff * magnitude);
    }
  }
}

TEST(NpuMatmulTest, TurnedWeightsGiveTheSameBits) {
  Random random(3);
  for (const Shape& shape : kShapes) {
    const Problem problem(shape, random);
    const std::vector<uint16_t> turned = problem.turned();
    for (const InstructionSet isa : supportedSets()) {
      FloatOut out(shape);
      kernelsOf(isa).matmul({.a = problem.rows(), .w = {turned.data(), 1, shape.n + 5}, .out = out.view()});
      EXPECT_TRUE(out.isGapWhole());
      for (uint64_t i = 0; i < shape.m; ++i) {
        for (uint64_t n = 0; n < shape.n; ++n) {
          ASSERT_TRUE(isSame(out.at(i, n), problem.expected(i, n)))
              << cpu::instructionSetName(isa) << " " << i << " " << n;
        }
      }
    }
  }
}

TEST(NpuMatmulTest, AccumulatesAndRounds) {
  Random random(4);
  for (const Shape& shape : kShapes) {
    const Problem problem(shape, random);
    const std::vector<uint16_t> turned = problem.turned();
    for (const InstructionSet isa : supportedSets()) {
      for (const MatmulWeights& w : {problem.weights(), MatmulWeights{turned.data(), 1, shape.n + 5}}) {
        FloatOut sums(shape);
        kernelsOf(isa).matmul({.a = problem.rows(), .w = w, .out = sums.view(), .accumulate = true});
        std::vector<uint16_t> halves(shape.m * shape.n);
        const FloatView rounded{DType::kF16, halves.data(), shape.m, shape.n, shape.n};
        kernelsOf(isa).matmul({.a = problem.rows(), .w = w, .out = rounded});
        for (uint64_t i = 0; i < shape.m; ++i) {
          for (uint64_t n = 0; n < shape.n; ++n) {
            const float expected = problem.expected(i, n);
            ASSERT_TRUE(isSame(sums.at(i, n), kCanary + expected));
            ASSERT_TRUE(isSameHalf(halves[i * shape.n + n], f32ToF16(expected)));
          }
        }
      }
    }
  }
}

TEST(NpuMatmulTest, NanStaysInItsRowAndColumn) {
  Random random(5);
  const Shape shape{9, 35, 50};
  Problem problem(shape, random);
  problem.a[4 * problem.stride() + 49] = 0x7C00;
  problem.w[17 * problem.stride()] = 0x7E01;
  const std::vector<uint16_t> turned = problem.turned();
  for (const InstructionSet isa : supportedSets()) {
    for (const MatmulWeights& w : {problem.weights(), MatmulWeights{turned.data(), 1, shape.n + 5}}) {
      FloatOut out(shape);
      kernelsOf(isa).matmul({.a = problem.rows(), .w = w, .out = out.view()});
      for (uint64_t i = 0; i < shape.m; ++i) {
        for (uint64_t n = 0; n < shape.n; ++n) {
          EXPECT_EQ(std::isfinite(out.at(i, n)), i != 4 && n != 17);
          EXPECT_TRUE(isSame(out.at(i, n), problem.expected(i, n)));
        }
      }
    }
  }
}

struct Codes {
  uint32_t bits;
  int32_t zero;

  int32_t at(std::span<const uint8_t> row, uint64_t k) const {
    if (bits == 8) return zero == 0 ? std::bit_cast<int8_t>(row[k]) : row[k] - zero;
    return (row[k / 2] >> 4 * (k % 2) & 15) - zero;
  }
};

TEST(NpuMatmulGroupsTest, EverySetGivesTheDefinition) {
  Random random(6);
  for (const auto& [groups, size] :
       {std::pair<uint64_t, uint64_t>{1, 32}, {3, 32}, {2, 128}, {5, 6}, {4, 22}, {1, 2}}) {
    for (const Shape& shape : {Shape{1, 16, 0}, Shape{1, 37, 0}, Shape{5, 3, 0}, Shape{12, 18, 0}, Shape{2, 1, 0}}) {
      for (const Codes& codes : {Codes{4, 8}, Codes{4, 0}, Codes{8, 0}, Codes{8, 128}, Codes{8, 3}}) {
        const uint64_t k = groups * size;
        const uint64_t rowBytes = k * codes.bits / 8;
        const Problem problem({shape.m, 1, k}, random);
        std::vector<uint8_t> bytes(shape.n * rowBytes);
        for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.below(256));
        for (const InstructionSet isa : supportedSets()) {
          std::vector<float> out(groups * shape.m * shape.n);
          kernelsOf(isa).matmulGroups({.a = problem.rows(),
                                       .codes = {bytes.data(), shape.n, rowBytes, rowBytes},
                                       .out = {out.data(), groups, shape.m, shape.n, shape.m * shape.n, shape.n},
                                       .bits = codes.bits,
                                       .zero = codes.zero});
          for (size_t at = 0; at < out.size(); ++at) {
            const uint64_t first = at / (shape.m * shape.n) * size;
            const float* const end = &out[at];
            const float expected = laneSum(size, [&](size_t i) {
              const std::span<const uint8_t> row = std::span(bytes).subspan(at % shape.n * rowBytes, rowBytes);
              return f16ToF32(problem.a[at / shape.n % shape.m * problem.stride() + first + i]) *
                     static_cast<float>(codes.at(row, first + i));
            });
            ASSERT_TRUE(isSame(*end, expected)) << cpu::instructionSetName(isa) << " " << codes.bits << " " << size;
          }
        }
      }
    }
  }
}

TEST(NpuAccumulateTest, EverySetGivesTheDefinition) {
  Random random(7);
  for (const uint64_t groups : {1, 2, 16, 17, 40}) {
    for (const Shape& shape : {Shape{1, 16, 0}, Shape{3, 21, 0}, Shape{2, 1, 0}, Shape{1, 70, 0}}) {
      const std::vector<float> partials = random.normals(groups * shape.m * shape.n, 100);
      const std::vector<float> sums = random.normals(shape.m * groups);
      const std::vector<uint16_t> scales = randomHalves(shape.n * groups, random);
      const std::vector<uint16_t> mins = randomHalves(shape.n * groups, random);
      const std::vector<float> start = random.normals(shape.m * shape.n);
      for (const InstructionSet isa : supportedSets()) {
        for (const bool hasMins : {false, true}) {
          for (const bool accumulate : {false, true}) {
            std::vector<float> out = start;
            AccumulateArgs args{.partials = {partials.data(), groups, shape.m, shape.n, shape.m * shape.n, shape.n},
                                .scales = {scales.data(), shape.n, groups, groups},
                                .mins = {},
                                .sums = {},
                                .out = {out.data(), shape.m, shape.n, shape.n},
                                .accumulate = accumulate};
            if (hasMins) args.mins = {mins.data(), shape.n, groups, groups};
            if (hasMins) args.sums = {sums.data(), shape.m, groups, groups};
            kernelsOf(isa).accumulate(args);
            for (size_t at = 0; at < out.size(); ++at) {
              const size_t i = at / shape.n;
              const size_t n = at % shape.n;
              float expected = accumulate ? start[at] : 0.0F;
              for (size_t g = 0; g < groups; ++g) {
                float term = f16ToF32(scales[n * groups + g]) * partials[g * shape.m * shape.n + at];
                if (hasMins) term += f16ToF32(mins[n * groups + g]) * sums[i * groups + g];
                expected += term;
              }
              ASSERT_EQ(out[at], expected) << cpu::instructionSetName(isa) << " " << groups << " " << at;
            }
          }
        }
      }
    }
  }
}

TEST(NpuGroupSumsTest, EverySetGivesTheDefinition) {
  Random random(8);
  for (const auto& [groups, size] : {std::pair<uint64_t, uint64_t>{1, 1}, {3, 32}, {2, 100}, {7, 15}}) {
    const std::vector<uint16_t> a = randomHalves(2 * groups * size, random);
    for (const InstructionSet isa : supportedSets()) {
      std::vector<float> sums(2 * groups);
      kernelsOf(isa).groupSums(
          {.a = {a.data(), 2, groups * size, groups * size}, .sums = {sums.data(), 2, groups, groups}});
      for (size_t g = 0; g < sums.size(); ++g) {
        ASSERT_EQ(sums[g], laneSum(size, [&](size_t k) { return f16ToF32(a[g * size + k]); }));
      }
    }
  }
}

}  // namespace
}  // namespace firn::npu::test
