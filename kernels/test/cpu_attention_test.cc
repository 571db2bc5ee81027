// cpu.attention on every type of cache: an oracle in double precision, the same bits whatever the
// instruction set, the chunk, the context and the split of heads, and no influence of what a row cannot see.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/row_i8.h"
#include "kernels/test/cpu_test_data.h"

namespace firn::cpu::test {
namespace {

/// K or V: rows of `dim` elements, counted over all heads.
class Cache {
 public:
  Cache(DType type, size_t rows, uint32_t dim)
      : type_(type), dim_(dim), bytes_(rows * dim * dtypeInfo(type)->blockBytes), scales_(rows) {}

  void set(size_t row, std::span<const float> values) {
    for (uint32_t d = 0; d < dim_; ++d) put(row, d, values[d]);
    if (type_ != DType::kI8) return;
    scales_[row] = quantizeRowI8(values, {reinterpret_cast<int8_t*>(at(row, 0)), dim_});
  }
  /// Makes every element read as `value`, NaN or infinite.
  void poison(size_t row, float value) {
    for (uint32_t d = 0; d < dim_; ++d) put(row, d, value);
    scales_[row] = value;
    if (type_ == DType::kI8) std::memset(at(row, 0), 127, dim_);
  }
  double value(size_t row, uint32_t d) const {
    const std::byte* element = bytes_.data() + (row * dim_ + d) * dtypeInfo(type_)->blockBytes;
    if (type_ == DType::kI8) return double{scales_[row]} * static_cast<int8_t>(*element);
    float value = 0;
    uint16_t half = 0;
    std::memcpy(&half, element, sizeof half);
    std::memcpy(&value, element, type_ == DType::kF32 ? sizeof value : 0);
    return type_ == DType::kF32 ? value : f16ToF32(half);
  }
  const void* row(size_t row) const { return bytes_.data() + row * dim_ * dtypeInfo(type_)->blockBytes; }
  const float* scale(size_t row) const { return scales_.data() + row; }

 private:
  std::byte* at(size_t row, uint32_t d) { return bytes_.data() + (row * dim_ + d) * dtypeInfo(type_)->blockBytes; }
  void put(size_t row, uint32_t d, float value) {
    const uint16_t half = f32ToF16(value);
    if (type_ == DType::kF16) std::memcpy(at(row, d), &half, sizeof half);
    if (type_ == DType::kF32) std::memcpy(at(row, d), &value, sizeof value);
  }

  DType type_;
  uint32_t dim_;
  std::vector<std::byte> bytes_;
  std::vector<float> scales_;
};

struct Shape {
  uint32_t heads, kvHeads, headDim;
  DType type = DType::kF16;
  uint32_t biasDims = 0;  ///< of i8: rotated width of the key bias; 0: none
  bool halfSplit = false;
};

/// A cache of `kvHeads` x `cacheRows`, of which the mask shows some, and `rows` query rows from row0 on.
class Problem {
 public:
  Problem(const Shape& shape, uint64_t seed)
      : shape_(shape),
        heads_(shape.heads),
        kvHeads_(shape.kvHeads),
        headDim_(shape.headDim),
        random_(seed),
        k_(shape.type, size_t{shape.kvHeads} * kCacheRows, shape.headDim),
        v_(shape.type, size_t{shape.kvHeads} * kCacheRows, shape.headDim) {
    for (size_t row = 0; row < size_t{kvHeads_} * kCacheRows; ++row) {
      k_.set(row, random_.normals(headDim_));
      v_.set(row, random_.normals(headDim_));
    }
    q_ = random_.normals(size_t{kCacheRows} * heads_ * headDim_, 2);
    mask_.assign(kCacheRows, 1);
    bias_ = random_.normals(size_t{kvHeads_} * headDim_, 3);
    for (size_t i = 0; i < size_t{kCacheRows} * shape.biasDims / 2; ++i) {
      const float angle = random_.normal(2);
      table_.push_back(std::cos(angle));
      table_.push_back(std::sin(angle));
    }
  }

  static constexpr uint32_t kCacheRows = 320;

  std::vector<uint8_t>& mask() { return mask_; }
  void setWindow(uint32_t window) { window_ = window; }
  Random& random() { return random_; }
  uint32_t headDim() const { return headDim_; }

  /// Fills the rows before `begin`, from `end` on, and those that the mask hides with `value`, in K and V.
  void poison(uint32_t end, float value, uint32_t begin = 0) {
    for (size_t at = 0; at < size_t{kvHeads_} * kCacheRows; ++at) {
      const size_t row = at % kCacheRows;
      if (row >= begin && row < end && mask_[row] != 0) continue;
      k_.poison(at, value);
      v_.poison(at, value);
    }
  }

  struct Range {
    uint32_t row0;
    uint32_t rows;
    uint32_t context;
    uint32_t firstHead = 0;
    uint32_t heads = 0;  ///< 0: all
  };

  /// Output [rows, heads, headDim] of a range of rows and heads; query row r is that of absolute row r.
  std::vector<float> run(InstructionSet isa, const Range& range) const {
    const uint32_t heads = range.heads == 0 ? heads_ : range.heads;
    const uint32_t group = heads_ / kvHeads_;
    const uint64_t need = attentionWorkspaceFloats(range.rows, group, headDim_);
    std::vector<float> workspace(need + 1, kNan);
    workspace[need] = 4711;
    std::vector<float> out(size_t{range.rows} * heads * headDim_ + 1, 4711);
    // A lane with heads from firstHead on gets the KV heads that these use.
    const size_t firstKvHead = range.firstHead / group;
    const size_t firstRow = firstKvHead * kCacheRows;
    const bool hasScales = shape_.type == DType::kI8;
    kernels(isa).attention({.q = q_.data() + (size_t{range.row0} * heads_ + range.firstHead) * headDim_,
                            .qRowStride = size_t{heads_} * headDim_,
                            .qHeadStride = headDim_,
                            .k = k_.row(firstRow),
                            .v = v_.row(firstRow),
                            .type = shape_.type,
                            .kvRowStride = headDim_,
                            .kvHeadStride = size_t{kCacheRows} * headDim_,
                            .kScales = hasScales ? k_.scale(firstRow) : nullptr,
                            .vScales = hasScales ? v_.scale(firstRow) : nullptr,
                            .scaleHeadStride = hasScales ? kCacheRows : 0,
                            .keyBias = {.bias = shape_.biasDims == 0 ? nullptr : bias_.data() + firstKvHead * headDim_,
                                        .biasHeadStride = headDim_,
                                        .table = table_.data(),
                                        .tableStride = shape_.biasDims,
                                        .dims = shape_.biasDims,
                                        .halfSplit = shape_.halfSplit},
                            .mask = mask_.data(),
                            .workspace = workspace.data(),
                            .out = out.data(),
                            .outRowStride = size_t{heads} * headDim_,
                            .outHeadStride = headDim_,
                            .scale = kScale,
                            .row0 = range.row0,
                            .rows = range.rows,
                            .context = range.context,
                            .heads = heads,
                            .headDim = headDim_,
                            .firstHead = range.firstHead,
                            .group = group,
                            .window = window_});
    EXPECT_EQ(workspace[need], 4711) << "workspace overrun";
    EXPECT_EQ(out.back(), 4711) << "output overrun";
    out.pop_back();
    return out;
  }

  /// Exact softmax attention of one row and head, and a bound for fp32.
  void expectNear(const Range& range, const std::vector<float>& out) const {
    for (uint32_t i = 0; i < range.rows; ++i) {
      for (uint32_t h = 0; h < heads_; ++h) {
        const std::vector<double> exact = exactRow(range.row0 + i, h, range.context);
        for (uint32_t d = 0; d < headDim_; ++d) {
          ASSERT_NEAR(out[(size_t{i} * heads_ + h) * headDim_ + d], exact[d], 4e-5) << "row " << i << " head " << h;
        }
      }
    }
  }

 private:
  static constexpr float kScale = 0.17F;

  std::vector<double> exactRow(uint32_t row, uint32_t head, uint32_t context) const {
    const size_t kvHead = head / (heads_ / kvHeads_);
    std::vector<double> scores(kCacheRows, -INFINITY);
    double max = -INFINITY;
    for (uint32_t r = 0; r < std::min(context, row + 1); ++r) {
      if (mask_[r] == 0 || (window_ > 0 && row - r >= window_)) continue;
      double dot = 0;
      for (uint32_t d = 0; d < headDim_; ++d) {
        dot += q_[(size_t{row} * heads_ + head) * headDim_ + d] *
               (k_.value(kvHead * kCacheRows + r, d) + turnedBias(kvHead, r, d));
      }
      scores[r] = dot * kScale;
      max = std::max(max, scores[r]);
    }
    std::vector<double> out(headDim_, 0);
    if (max == -INFINITY) return out;
    double total = 0;
    for (uint32_t r = 0; r < kCacheRows; ++r) {
      if (scores[r] == -INFINITY) continue;
      const double weight = std::exp(scores[r] - max);
      total += weight;
      for (uint32_t d = 0; d < headDim_; ++d) out[d] += weight * v_.value(kvHead * kCacheRows + r, d);
    }
    for (double& value : out) value /= total;
    return out;
  }

  /// Element d of the bias of a KV head, turned to position r.
  double turnedBias(size_t kvHead, uint32_t r, uint32_t d) const {
    if (shape_.biasDims == 0) return 0;
    const float* bias = bias_.data() + kvHead * headDim_;
    if (d >= shape_.biasDims) return bias[d];
    const uint32_t half = shape_.biasDims / 2;
    const uint32_t pair = shape_.halfSplit ? d % half : d / 2;
    const double a = bias[shape_.halfSplit ? pair : 2 * pair];
    const double b = bias[shape_.halfSplit ? pair + half : 2 * pair + 1];
    const double cosine = table_[size_t{r} * shape_.biasDims + 2 * pair];
    const double sine = table_[size_t{r} * shape_.biasDims + 2 * pair + 1];
    const bool isFirst = shape_.halfSplit ? d < half : d % 2 == 0;
    return isFirst ? a * cosine - b * sine : a * sine + b * cosine;
  }

  Shape shape_;
  uint32_t heads_;
  uint32_t kvHeads_;
  uint32_t headDim_;
  uint32_t window_ = 0;
  Random random_;
  Cache k_, v_;
  std::vector<float> q_;
  std::vector<uint8_t> mask_;
  std::vector<float> bias_;   ///< [kvHeads, headDim]
  std::vector<float> table_;  ///< [kCacheRows, biasDims / 2, 2]
};

class Attention : public testing::TestWithParam<Shape> {
 protected:
  static Problem make(uint64_t seed) { return {GetParam(), seed}; }
};

INSTANTIATE_TEST_SUITE_P(
    Shapes, Attention,
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

TEST_P(Attention, NearExactAndSameBitsOnEverySet) {
  for (const auto& [row0, rows] : {std::pair{0U, 1U}, {0U, 17U}, {63U, 2U}, {64U, 1U}, {100U, 35U}, {255U, 3U}}) {
    Problem problem = make(row0 + 1);
    if (row0 == 100) {
      for (uint32_t r = 0; r < 90; ++r) problem.mask()[r] = problem.random().below(3) == 0 ? 0 : 1;
    }
    const Problem::Range range{row0, rows, Problem::kCacheRows};
    const std::vector<float> portable = problem.run(InstructionSet::kPortable, range);
    problem.expectNear(range, portable);
    for (const InstructionSet isa : supportedSets()) {
      ASSERT_EQ(firstDifference(portable, problem.run(isa, range)), -1) << instructionSetName(isa) << " row0 " << row0;
    }
  }
}

TEST_P(Attention, ChunksAndContextsDoNotChangeBits) {
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

TEST_P(Attention, HeadRangesGiveTheSameBits) {
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

TEST_P(Attention, PoisonOutOfSightChangesNothing) {
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

TEST_P(Attention, ALaterRowsPoisonDoesNotReachEarlierRows) {
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

TEST_P(Attention, WindowsNearExactAndSameBitsHoweverTheyAreCut) {
  const size_t rowFloats = size_t{GetParam().heads} * GetParam().headDim;
  for (const uint32_t window : {1U, 16U, 17U, 64U, 65U, 1000U}) {
    Problem problem = make(7);
    problem.setWindow(window);
    for (uint32_t r = 30; r < 130; r += 3) problem.mask()[r] = 0;
    const Problem::Range whole{0, 130, 192};
    const std::vector<float> all = problem.run(InstructionSet::kPortable, whole);
    problem.expectNear(whole, all);
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

TEST_P(Attention, PoisonBeforeTheWindowChangesNothing) {
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

TEST_P(Attention, OneVisibleRowGivesItsValuesAndNoneGivesZeros) {
  Problem problem = make(6);
  std::fill(problem.mask().begin(), problem.mask().end(), 0);
  for (const InstructionSet isa : supportedSets()) {
    for (const float value : problem.run(isa, {100, 3, 128})) ASSERT_EQ(value, 0);
  }
  problem.mask()[70] = 1;
  const Problem::Range range{100, 3, 128};
  for (const InstructionSet isa : supportedSets()) problem.expectNear(range, problem.run(isa, range));
}

}  // namespace
}  // namespace firn::cpu::test
