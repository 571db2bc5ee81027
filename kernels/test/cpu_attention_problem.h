// A cache, queries and a mask made up for tests of attention, cpu and reference, and what exact arithmetic makes of
// them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/row_i8.h"
#include "kernels/reference/attention.h"
#include "kernels/test/cpu_test_data.h"

namespace firn::cpu::test {

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
        const Exact exact = exactRow(range.row0 + i, h, range.context);
        for (uint32_t d = 0; d < headDim_; ++d) {
          const double bound = exact.relative * exact.magnitudes[d];
          ASSERT_NEAR(out[(size_t{i} * heads_ + h) * headDim_ + d], exact.values[d], bound)
              << "row " << i << " head " << h;
        }
      }
    }
  }

  /// What the reference kernel makes of all heads of a range: the other implementation of the op.
  std::vector<float> runReference(const Range& range) const {
    std::vector<float> keys;
    std::vector<float> values;
    for (size_t at = 0; at < size_t{kvHeads_} * kCacheRows; ++at) {
      for (uint32_t d = 0; d < headDim_; ++d) {
        const double turned = turnedBias(at / kCacheRows, static_cast<uint32_t>(at % kCacheRows), d);
        keys.push_back(static_cast<float>(k_.value(at, d) + turned));
        values.push_back(static_cast<float>(v_.value(at, d)));
      }
    }
    const size_t rowFloats = size_t{heads_} * headDim_;
    const auto cache = [&](const std::vector<float>& floats) {
      return reference::ConstHeads{floats.data(), kCacheRows, kvHeads_,
                                   headDim_,      headDim_,   uint64_t{kCacheRows} * headDim_};
    };
    std::vector<float> out(range.rows * rowFloats, kNan);
    reference::attention(
        {.query = {q_.data() + range.row0 * rowFloats, range.rows, heads_, headDim_, rowFloats, headDim_},
         .keys = cache(keys),
         .values = cache(values),
         .mask = mask_.data(),
         .context = range.context,
         .row0 = range.row0,
         .window = window_,
         .scale = kScale,
         .out = {out.data(), range.rows, heads_, headDim_, rowFloats, headDim_}});
    return out;
  }

 private:
  static constexpr float kScale = 0.17F;

  /// A row of one head, and how far fp32 may be from it: |error| <= relative * sum of |weight * value|. A score has
  /// headDim / 16 + 5 roundings of the dot product in 16 lanes, up to 5 where a key is scale * code plus a turned bias,
  /// the product with the scale, and the difference to the largest; an error e of a score is one of e, relative, of its
  /// exponential, which the own exp rounds by 2 more (docs/arithmetic.md). It stands in numerator and denominator. Each
  /// of their sums has at most a rounding for each row that is seen, and 4 to bring blocks to one maximum.
  struct Exact {
    std::vector<double> values;
    std::vector<double> magnitudes;
    double relative = 0;
  };

  Exact exactRow(uint32_t row, uint32_t head, uint32_t context) const {
    const size_t kvHead = head / (heads_ / kvHeads_);
    std::vector<double> scores(kCacheRows, -INFINITY);
    double max = -INFINITY;
    double largest = 0;  // of the scores, every product counted with its magnitude
    uint32_t seen = 0;
    for (uint32_t r = 0; r < std::min(context, row + 1); ++r) {
      if (mask_[r] == 0 || (window_ > 0 && row - r >= window_)) continue;
      double dot = 0;
      double magnitude = 0;
      for (uint32_t d = 0; d < headDim_; ++d) {
        const double q = q_[(size_t{row} * heads_ + head) * headDim_ + d];
        const double key = k_.value(kvHead * kCacheRows + r, d);
        const double bias = turnedBias(kvHead, r, d);
        dot += q * (key + bias);
        magnitude += std::fabs(q) * (std::fabs(key) + 2 * std::fabs(bias));
      }
      scores[r] = dot * kScale;
      max = std::max(max, scores[r]);
      largest = std::max(largest, magnitude * kScale);
      ++seen;
    }
    Exact exact{std::vector<double>(headDim_, 0), std::vector<double>(headDim_, 0), 0};
    if (max == -INFINITY) return exact;
    const double scoreError = (headDim_ / 16.0 + 5 + 5 + 2) * largest + 2 * largest;
    exact.relative = 1.01 * kRoundoff * (2 * (scoreError + 2) + 2 * (seen + 4));
    double total = 0;
    for (uint32_t r = 0; r < kCacheRows; ++r) {
      if (scores[r] == -INFINITY) continue;
      const double weight = std::exp(scores[r] - max);
      total += weight;
      for (uint32_t d = 0; d < headDim_; ++d) {
        const double product = weight * v_.value(kvHead * kCacheRows + r, d);
        exact.values[d] += product;
        exact.magnitudes[d] += std::fabs(product);
      }
    }
    for (double& value : exact.values) value /= total;
    for (double& value : exact.magnitudes) value /= total;
    return exact;
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

}  // namespace firn::cpu::test
