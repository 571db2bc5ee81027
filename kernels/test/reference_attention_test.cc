#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/reference/attention.h"

namespace firn::reference {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatEq;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A cache of `rows` rows and `kvHeads` heads of `headDim`, laid out [kvHead][row][headDim], and queries over it.
struct Fixture {
  uint64_t queries = 1;
  uint64_t heads = 1;
  uint64_t kvHeads = 1;
  uint64_t headDim = 2;
  uint64_t cacheRows = 4;
  uint64_t context = 4;
  uint64_t row0 = 3;
  uint64_t window = 0;
  std::vector<float> q{};
  std::vector<float> k{};
  std::vector<float> v{};
  std::vector<uint8_t> mask{};

  void fillRandom() {
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    q.resize(queries * heads * headDim);
    k.resize(kvHeads * cacheRows * headDim);
    v.resize(k.size());
    for (std::vector<float>* values : {&q, &k, &v}) {
      for (float& value : *values) value = normal(random);
    }
    mask.assign(context, 1);
  }

  ConstHeads cache(const std::vector<float>& values) const {
    return {values.data(), cacheRows, kvHeads, headDim, headDim, cacheRows * headDim};
  }

  std::vector<float> run(float scale = 0.5F) const {
    std::vector<float> out(q.size(), kNan);
    attention({.query = {q.data(), queries, heads, headDim, heads * headDim, headDim},
               .keys = cache(k),
               .values = cache(v),
               .mask = mask.data(),
               .context = context,
               .row0 = row0,
               .window = window,
               .scale = scale,
               .out = {out.data(), queries, heads, headDim, heads * headDim, headDim}});
    return out;
  }

  /// A value and how far fp32 may be from it.
  struct Expected {
    double value = 0;
    double bound = 0;
  };

  /// The definition, in double, with every sum written out. A score has headDim / 16 + 5 roundings of the dot product,
  /// one of the scale and one of the difference to the largest; an error e of a score is one of e, relative, of its
  /// exponential, which rounds by 2 more. It stands in numerator and denominator, whose sums have a rounding or two for
  /// each row that is seen.
  std::vector<Expected> expected(float scale = 0.5F) const {
    std::vector<Expected> out(q.size());
    for (uint64_t i = 0; i < queries; ++i) {
      for (uint64_t h = 0; h < heads; ++h) {
        const uint64_t base = h / (heads / kvHeads) * cacheRows * headDim;
        const uint64_t at = (i * heads + h) * headDim;
        double total = 0;
        double largest = 0;  // of the scores, every product counted with its magnitude
        double seen = 0;
        for (uint64_t r = 0; r < context && r <= row0 + i; ++r) {
          if (mask[r] == 0 || (window > 0 && row0 + i - r >= window)) continue;
          double score = 0;
          double magnitude = 0;
          for (uint64_t d = 0; d < headDim; ++d) {
            const double product = static_cast<double>(q[at + d]) * k[base + r * headDim + d];
            score += product;
            magnitude += std::fabs(product);
          }
          const double weight = std::exp(score * scale);
          total += weight;
          largest = std::max(largest, magnitude * scale);
          ++seen;
          for (uint64_t d = 0; d < headDim; ++d) {
            out[at + d].value += weight * v[base + r * headDim + d];
            out[at + d].bound += std::fabs(weight * v[base + r * headDim + d]);
          }
        }
        const double scoreError = (static_cast<double>(headDim) / 16 + 5 + 1 + 2) * largest;
        const double relative = 1.01 * 0x1p-24 * (2 * (scoreError + 2) + 3 * seen + 1);
        for (uint64_t d = 0; d < headDim && total > 0; ++d) {
          out[at + d].value /= total;
          out[at + d].bound *= relative / total;
        }
      }
    }
    return out;
  }

  void expectAgreement() const {
    const std::vector<float> got = run();
    const std::vector<Expected> want = expected();
    for (uint64_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i].value, want[i].bound) << "element " << i;
  }

  /// Puts poison in every row of K and V that `visible` does not name.
  void poison(const std::vector<bool>& visible, float value) {
    for (uint64_t i = 0; i < k.size(); ++i) {
      if (visible[i / headDim % cacheRows]) continue;
      k[i] = value;
      v[i] = value;
    }
  }
};

TEST(AttentionTest, WeightsAreASoftmaxOfScaledScores) {
  // Scores 0 and ln 3 after scaling: weights 1/4 and 3/4.
  Fixture fixture{.cacheRows = 2, .context = 2, .row0 = 1};
  fixture.q = {1, 0};
  fixture.k = {0, 5, 2 * std::log(3.0F), 7};
  fixture.v = {4, 8, 8, 0};
  fixture.mask = {1, 1};
  EXPECT_THAT(fixture.run(0.5F), ElementsAre(FloatEq(7), FloatEq(2)));
}

TEST(AttentionTest, OneVisibleRowGivesItsValueExactly) {
  Fixture fixture{.row0 = 0};
  fixture.fillRandom();
  EXPECT_THAT(fixture.run(), ElementsAre(fixture.v[0], fixture.v[1]));
}

TEST(AttentionTest, GroupedHeadsOverAChunk) {
  Fixture fixture{.queries = 5, .heads = 6, .kvHeads = 2, .headDim = 20, .cacheRows = 40, .context = 32, .row0 = 9};
  fixture.fillRandom();
  fixture.expectAgreement();
}

TEST(AttentionTest, MaskedRowsAreLeftOut) {
  Fixture fixture{.queries = 3, .heads = 2, .kvHeads = 1, .headDim = 8, .cacheRows = 16, .context = 16, .row0 = 10};
  fixture.fillRandom();
  for (const uint64_t row : {0, 4, 5, 11}) fixture.mask[row] = 0;
  fixture.expectAgreement();
}

TEST(AttentionTest, AWindowHidesWhatLiesFarBehind) {
  for (const uint64_t window : {1, 2, 7, 12, 13, 14, 100}) {
    Fixture fixture{.queries = 4,
                    .heads = 2,
                    .kvHeads = 1,
                    .headDim = 8,
                    .cacheRows = 16,
                    .context = 16,
                    .row0 = 10,
                    .window = window};
    fixture.fillRandom();
    fixture.mask[9] = 0;
    fixture.expectAgreement();
    const std::vector<float> clean = fixture.run();
    std::vector<bool> visible(fixture.cacheRows);
    for (uint64_t row = 0; row < 14; ++row) visible[row] = row + window > 10;  // of the first query, and all later rows
    fixture.poison(visible, kNan);
    EXPECT_EQ(fixture.run(), clean) << window;
  }
}

TEST(AttentionTest, UnseenRowsMayHoldAnything) {
  Fixture fixture{.queries = 2, .heads = 4, .kvHeads = 2, .headDim = 8, .cacheRows = 16, .context = 12, .row0 = 6};
  fixture.fillRandom();
  std::vector<bool> visible(fixture.cacheRows, false);
  for (uint64_t row = 0; row < 8; ++row) visible[row] = row != 3;  // the last query is at row 7
  fixture.mask[3] = 0;
  const std::vector<float> clean = fixture.run();
  for (const float poison : {kNan, kInfinity, -kInfinity}) {
    Fixture poisoned = fixture;
    poisoned.poison(visible, poison);
    EXPECT_EQ(poisoned.run(), clean) << "poison " << poison;
  }
}

TEST(AttentionTest, AQueryDoesNotSeeTheRowsAfterIt) {
  Fixture fixture{.queries = 2, .headDim = 4, .cacheRows = 8, .context = 8, .row0 = 2};
  fixture.fillRandom();
  const std::vector<float> before = fixture.run();
  for (uint64_t d = 0; d < 4; ++d) fixture.v[3 * 4 + d] += 1;  // the row of the second query
  const std::vector<float> after = fixture.run();
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 4, after.begin()));
  EXPECT_FALSE(std::equal(before.begin() + 4, before.end(), after.begin() + 4));
}

TEST(AttentionTest, ALongerContextChangesNothing) {
  Fixture fixture{.queries = 2, .headDim = 16, .cacheRows = 64, .context = 16, .row0 = 9};
  fixture.fillRandom();
  const std::vector<float> narrow = fixture.run();
  fixture.context = 64;
  fixture.mask.assign(64, 0);
  std::fill_n(fixture.mask.begin(), 11, uint8_t{1});
  EXPECT_EQ(fixture.run(), narrow);
}

TEST(AttentionTest, NothingVisibleGivesZeros) {
  Fixture fixture;
  fixture.fillRandom();
  fixture.mask.assign(4, 0);
  fixture.poison(std::vector<bool>(4, false), kNan);
  EXPECT_THAT(fixture.run(), Each(0.0F));
}

TEST(AttentionTest, LargeScoresDoNotOverflow) {
  Fixture fixture{.row0 = 1};
  fixture.fillRandom();
  fixture.q = {1000, 0};
  fixture.k = {1000, 0, 1000, 0, 0, 0, 0, 0};
  fixture.v = {1, 2, 3, 4, 0, 0, 0, 0};
  EXPECT_THAT(fixture.run(), ElementsAre(2, 3));
}

}  // namespace
}  // namespace firn::reference
