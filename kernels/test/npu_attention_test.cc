// Attention as the npu walks it: matmul, softmax, clean, rescale, matmul and finish over blocks of KV rows, against
// kernels/reference/attention within a bound computed from f16; what no query sees holds NaN and infinities.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/npu/clean.h"
#include "kernels/reference/attention.h"
#include "kernels/test/npu_test_data.h"

namespace firn::npu::test {
namespace {

constexpr uint64_t kKvHeads = 2;
constexpr uint64_t kContext = 53;
constexpr uint16_t kHalfNan = 0x7E00;
constexpr uint16_t kHalfInf = 0xFC00;

struct Problem {
  uint64_t tokens;
  uint64_t group;
  uint64_t dim;
  uint64_t row0;
  uint64_t window;
  float scale = 0.3F;
  std::vector<uint16_t> q = {};    ///< [tokens, heads, dim]
  std::vector<uint16_t> k = {};    ///< [KV heads, context, dim]
  std::vector<uint16_t> v = {};    ///< the same
  std::vector<uint8_t> mask = {};  ///< [context]

  uint64_t heads() const { return group * kKvHeads; }

  /// Rows that the mask takes away are poisoned, and the keys behind the last query.
  void fill(Random& random, uint32_t masked) {
    q = halvesOf(random.normals(tokens * heads() * dim, 2));
    k = halvesOf(random.normals(kKvHeads * kContext * dim));
    v = halvesOf(random.normals(kKvHeads * kContext * dim, 3));
    mask.resize(kContext);
    for (uint64_t r = 0; r < kContext; ++r) {
      mask[r] = random.below(100) < masked ? 0 : static_cast<uint8_t>(1 + random.below(255));
      for (uint64_t h = 0; h < kKvHeads; ++h) {
        const auto at = static_cast<ptrdiff_t>((h * kContext + r) * dim);
        if (mask[r] == 0 || r >= row0 + tokens) std::fill_n(k.begin() + at, dim, r % 2 == 0 ? kHalfNan : kHalfInf);
        if (mask[r] == 0) std::fill_n(v.begin() + at, dim, r % 2 == 0 ? kHalfInf : kHalfNan);
      }
    }
  }
};

std::vector<float> floatsOf(const std::vector<uint16_t>& halves) {
  std::vector<float> values;
  for (const uint16_t half : halves) values.push_back(f16ToF32(half));
  return values;
}

std::vector<float> byReference(const Problem& problem) {
  const std::vector<float> q = floatsOf(problem.q);
  const std::vector<float> k = floatsOf(problem.k);
  const std::vector<float> v = floatsOf(problem.v);
  std::vector<float> out(q.size());
  const uint64_t dim = problem.dim;
  const uint64_t rowStride = problem.heads() * dim;
  reference::attention({.query = {q.data(), problem.tokens, problem.heads(), dim, rowStride, dim},
                        .keys = {k.data(), kContext, kKvHeads, dim, dim, kContext * dim},
                        .values = {v.data(), kContext, kKvHeads, dim, dim, kContext * dim},
                        .mask = problem.mask.data(),
                        .context = kContext,
                        .row0 = problem.row0,
                        .window = problem.window,
                        .scale = problem.scale,
                        .out = {out.data(), problem.tokens, problem.heads(), dim, rowStride, dim}});
  return out;
}

/// The part of a walk that a tile has: tokens first .. end - 1 of one KV head, in blocks of `rows` KV rows.
struct Walk {
  const Problem& problem;
  const NpuKernels& table;
  uint64_t kvHead;
  uint64_t firstToken;
  uint64_t endToken;
  uint64_t blockRows;

  uint64_t queries() const { return (endToken - firstToken) * problem.group; }

  std::vector<uint16_t> query() const {
    std::vector<uint16_t> rows;
    for (uint64_t t = firstToken; t < endToken; ++t) {
      const auto at =
          problem.q.begin() + static_cast<ptrdiff_t>((t * problem.heads() + kvHead * problem.group) * problem.dim);
      rows.insert(rows.end(), at, at + static_cast<ptrdiff_t>(problem.group * problem.dim));
    }
    return rows;
  }

  /// [queries, dim]
  std::vector<uint16_t> run() const {
    const uint64_t m = queries();
    const uint64_t dim = problem.dim;
    const std::vector<uint16_t> q = query();
    std::vector<float> max(m, kNan);  // isFirst initialises them
    std::vector<float> sum(m, kNan);
    std::vector<float> factor(m);
    std::vector<float> acc(m * dim);
    for (uint64_t first = 0; first < kContext; first += blockRows) {
      const uint64_t r = std::min(blockRows, kContext - first);
      const uint64_t at = (kvHead * kContext + first) * dim;
      std::vector<float> scores(m * r);
      std::vector<uint16_t> probs(m * r);
      table.matmul(
          {.a = {q.data(), m, dim, dim}, .w = {&problem.k[at], dim, 1}, .out = {DType::kF32, scores.data(), m, r, r}});
      table.softmax({.scores = {scores.data(), m, r, r},
                     .mask = &problem.mask[first],
                     .max = max.data(),
                     .sum = sum.data(),
                     .factor = factor.data(),
                     .probs = {probs.data(), m, r, r},
                     .scale = problem.scale,
                     .row0 = static_cast<int64_t>(problem.row0),
                     .firstRow = static_cast<int64_t>(first),
                     .firstToken = static_cast<int64_t>(firstToken),
                     .group = static_cast<uint32_t>(problem.group),
                     .window = static_cast<int64_t>(problem.window),
                     .isFirst = first == 0});
      std::vector<uint16_t> v(&problem.v[at], &problem.v[at] + r * dim);
      clean({.v = {v.data(), r, dim, dim},
             .mask = &problem.mask[first],
             .row0 = static_cast<int32_t>(problem.row0),
             .firstRow = static_cast<uint32_t>(first),
             .firstToken = static_cast<uint32_t>(firstToken),
             .window = static_cast<uint32_t>(problem.window)});
      table.rescale({.acc = {acc.data(), m, dim, dim}, .factor = factor.data()});
      table.matmul({.a = {probs.data(), m, r, r},
                    .w = {v.data(), 1, dim},
                    .out = {DType::kF32, acc.data(), m, dim, dim},
                    .accumulate = true});
    }
    std::vector<uint16_t> out(m * dim);
    table.finish({.acc = {acc.data(), m, dim, dim}, .sum = sum.data(), .out = {out.data(), m, dim, dim}});
    return out;
  }
};

/// How far a result may be from the exact attention. A weight p <= 1 (1 at the maximum) is off by
///   p (2^-11 + what its score is off + 2 units roundoff of exp and 4 more for each block) + 2^-25,
/// and weights that are off by e_r move their mean of values v_r by at most sum(e_r) * 2 max|v| / sum(p). S * V and the
/// division add their roundings; that of the result to f16 is not in here.
double boundOf(const Problem& problem, uint64_t blocks) {
  double largestQ = 0;
  double largestK = 0;
  double largestV = 0;
  const auto grow = [](double& largest, float x) {
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(static_cast<double>(x)));
  };
  for (const uint16_t half : problem.q) grow(largestQ, f16ToF32(half));
  for (const uint16_t half : problem.k) grow(largestK, f16ToF32(half));
  for (const uint16_t half : problem.v) grow(largestV, f16ToF32(half));
  const double products = largestQ * largestK * static_cast<double>(problem.dim) * problem.scale;
  const double score = 2 * (static_cast<double>(problem.dim) / 16 + 10) * kRoundoff * products;
  const double weight = kHalfRoundoff + score + (6 + 4 * static_cast<double>(blocks)) * kRoundoff;
  const double sums = (kContext + 12.0) * kRoundoff;
  return 2 * largestV * (weight + sums + kContext * kHalfTiny);
}

void expectWalks(const Problem& problem, uint64_t blockRows) {
  const std::vector<float> expected = byReference(problem);
  const double bound = boundOf(problem, kContext / blockRows + 1);
  for (uint64_t kvHead = 0; kvHead < kKvHeads; ++kvHead) {
    std::vector<uint16_t> portable;
    for (const InstructionSet isa : supportedSets()) {
      const std::vector<uint16_t> out = Walk{problem, kernelsOf(isa), kvHead, 0, problem.tokens, blockRows}.run();
      if (portable.empty()) portable = out;
      ASSERT_EQ(out, portable) << cpu::instructionSetName(isa);
    }
    for (uint64_t i = 0; i < portable.size(); ++i) {
      const uint64_t row = i / problem.dim;
      const uint64_t head = kvHead * problem.group + row % problem.group;
      const float value = expected[(row / problem.group * problem.heads() + head) * problem.dim + i % problem.dim];
      ASSERT_NEAR(f16ToF32(portable[i]), value, bound + kHalfRoundoff * std::fabs(value) + kHalfTiny)
          << "blocks of " << blockRows << ", row0 " << problem.row0;
    }
  }
}

TEST(NpuAttentionTest, WalksEqualTheReference) {
  Random random(1);
  for (const uint64_t tokens : {1, 5}) {
    for (const uint64_t group : {1, 3}) {
      for (const uint64_t row0 : {0, 1, 30, 48}) {
        for (const uint64_t window : {0, 1, 9, 100}) {
          Problem problem{.tokens = tokens, .group = group, .dim = 40, .row0 = row0, .window = window};
          problem.fill(random, 15);
          for (const uint64_t blockRows : {1, 7, 16, 33, 64}) expectWalks(problem, blockRows);
        }
      }
    }
  }
}

TEST(NpuAttentionTest, TilesOfTokensGiveTheBitsOfAll) {
  Random random(2);
  Problem problem{.tokens = 7, .group = 3, .dim = 16, .row0 = 11, .window = 9};
  problem.fill(random, 20);
  const NpuKernels& table = kernelsOf(cpu::bestInstructionSet());
  const std::vector<uint16_t> whole = Walk{problem, table, 1, 0, 7, 16}.run();
  for (const uint64_t cut : {1, 3, 6}) {
    std::vector<uint16_t> parts = Walk{problem, table, 1, 0, cut, 16}.run();
    const std::vector<uint16_t> rest = Walk{problem, table, 1, cut, 7, 16}.run();
    parts.insert(parts.end(), rest.begin(), rest.end());
    EXPECT_EQ(parts, whole);
  }
}

TEST(NpuAttentionTest, NothingSeenGivesZeros) {
  Random random(3);
  Problem problem{.tokens = 2, .group = 2, .dim = 24, .row0 = 20, .window = 0};
  problem.fill(random, 100);
  for (const InstructionSet isa : supportedSets()) {
    const std::vector<uint16_t> out = Walk{problem, kernelsOf(isa), 0, 0, 2, 16}.run();
    EXPECT_EQ(out, std::vector<uint16_t>(out.size(), 0));
  }
}

/// One row of scores through softmax.
struct OneRow {
  std::vector<float> scores;
  std::vector<uint8_t> mask;
  float max = 3;
  float sum = 5;
  float factor = kNan;
  std::vector<uint16_t> probs = {};

  OneRow& run(const NpuKernels& table, bool isFirst, int64_t row0 = 1000) {
    const uint64_t r = scores.size();
    probs.assign(r, 0x1234);
    table.softmax({.scores = {scores.data(), 1, r, r},
                   .mask = mask.data(),
                   .max = &max,
                   .sum = &sum,
                   .factor = &factor,
                   .probs = {probs.data(), 1, r, r},
                   .row0 = row0,
                   .isFirst = isFirst});
    return *this;
  }
};

TEST(NpuSoftmaxTest, BlockWithoutSeenRows) {
  for (const InstructionSet isa : supportedSets()) {
    OneRow row{.scores = {kNan, kInf, 9}, .mask = {0, 0, 0}};
    row.run(kernelsOf(isa), false);
    EXPECT_EQ(row.max, 3);
    EXPECT_EQ(row.sum, 5);
    EXPECT_EQ(row.factor, 1);
    EXPECT_EQ(row.probs, std::vector<uint16_t>(3, 0));
    row.run(kernelsOf(isa), true);
    EXPECT_EQ(row.max, -kInf);
    EXPECT_EQ(row.sum, 0);
    EXPECT_EQ(row.factor, 1);
    OneRow future{.scores = {1, 2, 3}, .mask = {1, 1, 1}};
    future.run(kernelsOf(isa), true, -1);
    EXPECT_EQ(future.sum, 0);
  }
}

TEST(NpuSoftmaxTest, SumIsThatOfTheRoundedWeights) {
  Random random(4);
  const std::vector<float> scores = random.normals(77, 4);
  for (const InstructionSet isa : supportedSets()) {
    OneRow row{.scores = scores, .mask = std::vector<uint8_t>(77, 1)};
    row.run(kernelsOf(isa), true);
    EXPECT_EQ(row.max, *std::ranges::max_element(scores));
    EXPECT_EQ(row.sum, laneSum(77, [&](size_t j) { return f16ToF32(row.probs[j]); }));
    const float first = row.sum;
    for (float& score : row.scores) score += 1;
    row.run(kernelsOf(isa), false);
    EXPECT_NEAR(row.factor, std::exp(-1.0), 1e-6);
    EXPECT_EQ(row.sum, first * row.factor + laneSum(77, [&](size_t j) { return f16ToF32(row.probs[j]); }));
  }
}

TEST(NpuSoftmaxTest, MinusInfinityWeighsNothingAndNanStays) {
  for (const InstructionSet isa : supportedSets()) {
    OneRow none{.scores = {-kInf, -kInf}, .mask = {1, 1}};
    none.run(kernelsOf(isa), true);
    EXPECT_EQ(none.probs, std::vector<uint16_t>(2, 0));
    EXPECT_EQ(none.sum, 0);
    none.scores = {-kInf, 2};
    none.run(kernelsOf(isa), false);
    EXPECT_EQ(none.factor, 0);
    EXPECT_EQ(none.sum, 1);
    OneRow nan{.scores = {1, kNan}, .mask = {1, 1}};
    EXPECT_TRUE(std::isnan(nan.run(kernelsOf(isa), true).sum));
    nan.mask = {1, 0};
    EXPECT_EQ(nan.run(kernelsOf(isa), true).sum, 1);
  }
}

TEST(NpuFinishTest, DividesAndRounds) {
  const std::vector<float> acc = {1, 2, 1e9F, kNan, kInf, 1};
  const std::vector<float> sum = {3, 0};
  for (const InstructionSet isa : supportedSets()) {
    std::vector<uint16_t> out(6);
    kernelsOf(isa).finish({.acc = {acc.data(), 2, 3, 3}, .sum = sum.data(), .out = {out.data(), 2, 3, 3}});
    EXPECT_EQ(out, (std::vector<uint16_t>{f32ToF16(1.0F / 3), f32ToF16(2.0F / 3), 0x7C00, 0, 0, 0}));
  }
}

}  // namespace
}  // namespace firn::npu::test
