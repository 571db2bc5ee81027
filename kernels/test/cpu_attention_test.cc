// cpu.attention on every type of cache: an oracle in double precision, the same bits whatever the
// instruction set, the chunk, the context and the split of heads, and no influence of what a row cannot see.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/test/cpu_attention_problem.h"

namespace firn::cpu::test {
namespace {

class AttentionTest : public testing::TestWithParam<Shape> {
 protected:
  static Problem make(uint64_t seed) { return {GetParam(), seed}; }
};

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionTest,
    testing::Values(Shape{1, 1, 2}, Shape{3, 1, 16}, Shape{6, 2, 64}, Shape{4, 4, 20}, Shape{10, 2, 32},
                    Shape{4, 2, 80}, Shape{2, 1, 130}, Shape{4, 1, 256}, Shape{6, 2, 64, DType::kF32},
                    Shape{4, 2, 20, DType::kF32}, Shape{1, 1, 2, DType::kI8}, Shape{6, 2, 64, DType::kI8},
                    Shape{4, 4, 20, DType::kI8}, Shape{3, 1, 2, DType::kI8, 2}, Shape{6, 2, 64, DType::kI8, 64, true},
                    Shape{4, 2, 64, DType::kI8, 64}, Shape{4, 4, 20, DType::kI8, 12, true}),
    [](const auto& info) {
      const Shape& shape = info.param;
      return "h" + std::to_string(shape.heads) + "_kv" + std::to_string(shape.kvHeads) + "_d" +
             std::to_string(shape.headDim) + "_" + std::string(dtypeInfo(shape.type)->name) +
             (shape.biasDims == 0 ? "" : "_bias" + std::to_string(shape.biasDims) + (shape.halfSplit ? "_halves" : ""));
    });

TEST_P(AttentionTest, NearExactAndSameBitsOnEverySet) {
  for (const auto& [row0, rows] : {std::pair{0U, 1U}, {0U, 17U}, {63U, 2U}, {64U, 1U}, {100U, 35U}, {255U, 3U}}) {
    Problem problem = make(row0 + 1);
    if (row0 == 100) {
      for (uint32_t r = 0; r < 90; ++r) problem.mask()[r] = problem.random().below(3) == 0 ? 0 : 1;
    }
    const Problem::Range range{row0, rows, Problem::kCacheRows};
    const std::vector<float> portable = problem.run(InstructionSet::kPortable, range);
    problem.expectNear(range, portable);
    problem.expectNear(range, problem.runReference(range));
    for (const InstructionSet isa : supportedSets()) {
      ASSERT_EQ(firstDifference(portable, problem.run(isa, range)), -1) << instructionSetName(isa) << " row0 " << row0;
    }
  }
}

TEST_P(AttentionTest, ChunksAndContextsDoNotChangeBits) {
  Problem problem = make(2);
  for (uint32_t r = 30; r < 130; r += 3) problem.mask()[r] = 0;
  const size_t rowFloats = size_t{GetParam().heads} * GetParam().headDim;
  for (const InstructionSet isa : supportedSets()) {
    const std::vector<float> all = problem.run(isa, {0, 130, 192});
    uint32_t first = 0;
    for (const uint32_t count : {1U, 15U, 16U, 33U, 1U, 64U}) {
      const uint32_t end = first + count;
      const auto expected = std::span(all).subspan(first * rowFloats, count * rowFloats);
      for (const uint32_t context : {end, (end + 63) / 64 * 64, Problem::kCacheRows}) {
        ASSERT_EQ(firstDifference(expected, problem.run(isa, {first, count, context})), -1)
            << instructionSetName(isa) << " rows " << first << " + " << count << " context " << context;
      }
      first = end;
    }
  }
}

TEST_P(AttentionTest, HeadRangesGiveTheSameBits) {
  const Problem problem = make(3);
  const uint32_t heads = GetParam().heads;
  const uint32_t dim = GetParam().headDim;
  for (const InstructionSet isa : supportedSets()) {
    const std::vector<float> all = problem.run(isa, {90, 5, 128});
    for (uint32_t firstHead = 0; firstHead < heads; ++firstHead) {
      for (uint32_t count = 1; firstHead + count <= heads; ++count) {
        const std::vector<float> part = problem.run(isa, {90, 5, 128, firstHead, count});
        for (uint32_t i = 0; i < 5; ++i) {
          const auto expected = std::span(all).subspan((size_t{i} * heads + firstHead) * dim, size_t{count} * dim);
          const auto found = std::span(part).subspan(size_t{i} * count * dim, size_t{count} * dim);
          ASSERT_EQ(firstDifference(expected, found), -1) << "heads " << firstHead << " + " << count;
        }
      }
    }
  }
}

TEST_P(AttentionTest, PoisonOutOfSightChangesNothing) {
  Problem problem = make(4);
  auto& mask = problem.mask();
  std::fill(mask.begin() + 64, mask.begin() + 128, 0);  // a whole block
  for (uint32_t r = 5; r < 40; r += 2) mask[r] = 0;
  for (uint32_t r = 180; r < mask.size(); ++r) mask[r] = 0;
  const Problem::Range range{150, 30, Problem::kCacheRows};
  for (const InstructionSet isa : supportedSets()) {
    const std::vector<float> clean = problem.run(isa, range);
    for (const float value : {kNan, kInf, -kInf}) {
      Problem poisoned = problem;
      poisoned.poison(180, value);
      ASSERT_EQ(firstDifference(clean, poisoned.run(isa, range)), -1);
    }
  }
}

TEST_P(AttentionTest, ALaterRowsPoisonDoesNotReachEarlierRows) {
  Problem problem = make(5);
  const size_t rowFloats = size_t{GetParam().heads} * GetParam().headDim;
  Problem poisoned = problem;
  poisoned.poison(140, kNan);  // rows 140 .. are visible to query rows 140 .. 149 only
  for (const InstructionSet isa : supportedSets()) {
    const std::vector<float> clean = problem.run(isa, {120, 30, 192});
    const std::vector<float> out = poisoned.run(isa, {120, 30, 192});
    ASSERT_EQ(firstDifference(std::span(clean).first(20 * rowFloats), std::span(out).first(20 * rowFloats)), -1);
    for (size_t at = 20 * rowFloats; at < out.size(); ++at) ASSERT_TRUE(std::isnan(out[at]));
  }
}

TEST_P(AttentionTest, WindowsNearExactAndSameBitsHoweverTheyAreCut) {
  const size_t rowFloats = size_t{GetParam().heads} * GetParam().headDim;
  for (const uint32_t window : {1U, 16U, 17U, 64U, 65U, 1000U}) {
    Problem problem = make(7);
    problem.setWindow(window);
    for (uint32_t r = 30; r < 130; r += 3) problem.mask()[r] = 0;
    const Problem::Range whole{0, 130, 192};
    const std::vector<float> all = problem.run(InstructionSet::kPortable, whole);
    problem.expectNear(whole, all);
    problem.expectNear(whole, problem.runReference(whole));
    for (const InstructionSet isa : supportedSets()) {
      uint32_t first = 0;
      for (const uint32_t count : {1U, 15U, 16U, 33U, 1U, 64U}) {
        const auto expected = std::span(all).subspan(first * rowFloats, count * rowFloats);
        for (const uint32_t context : {first + count, Problem::kCacheRows}) {
          ASSERT_EQ(firstDifference(expected, problem.run(isa, {first, count, context})), -1)
              << instructionSetName(isa) << " window " << window << " rows " << first << " + " << count;
        }
        first += count;
      }
    }
  }
}

TEST_P(AttentionTest, PoisonBeforeTheWindowChangesNothing) {
  for (const uint32_t window : {1U, 20U, 64U, 90U}) {
    Problem problem = make(8);
    problem.setWindow(window);
    const Problem::Range range{150, 5, Problem::kCacheRows};
    const uint32_t begin = 151 - window;  // the first row that row 150 sees
    for (const InstructionSet isa : supportedSets()) {
      const std::vector<float> clean = problem.run(isa, range);
      Problem poisoned = problem;
      poisoned.poison(155, kNan, begin);
      ASSERT_EQ(firstDifference(clean, poisoned.run(isa, range)), -1) << window;
      // One row more is seen by row 150 and no other.
      poisoned.poison(155, kNan, begin + 1);
      const size_t rowFloats = size_t{GetParam().heads} * GetParam().headDim;
      const std::vector<float> out = poisoned.run(isa, range);
      ASSERT_EQ(firstDifference(std::span(clean).subspan(rowFloats), std::span(out).subspan(rowFloats)), -1) << window;
      for (size_t at = 0; at < rowFloats; ++at) ASSERT_TRUE(std::isnan(out[at]));
    }
  }
}

TEST_P(AttentionTest, OneVisibleRowGivesItsValuesAndNoneGivesZeros) {
  Problem problem = make(6);
  std::fill(problem.mask().begin(), problem.mask().end(), 0);
  for (const InstructionSet isa : supportedSets()) {
    for (const float value : problem.run(isa, {100, 3, 128})) ASSERT_EQ(value, 0);
  }
  problem.mask()[70] = 1;
  const Problem::Range range{100, 3, 128};
  problem.expectNear(range, problem.runReference(range));
  for (const InstructionSet isa : supportedSets()) problem.expectNear(range, problem.run(isa, range));
}

}  // namespace
}  // namespace firn::cpu::test
