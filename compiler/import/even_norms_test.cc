#include "compiler/import/even_norms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace firn::import {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

/// Two norms and the layer that views them.
struct Norms {
  std::vector<float> q, k;

  LayerSpec layer() const {
    LayerSpec layer;
    layer.qNorm = view("blk.0.attn_q_norm.weight", q);
    layer.kNorm = view("blk.0.attn_k_norm.weight", k);
    return layer;
  }
  std::optional<HeadNorms> even(const RopeSpec& rope) const {
    return evenHeadNorms(layer(), rope, static_cast<uint32_t>(k.size()));
  }
  static TensorView view(const std::string& name, const std::vector<float>& values) {
    return {name, DType::kF32, {values.size()}, std::as_bytes(std::span(values))};
  }
};

RopeSpec rope(RopePairing pairing, uint32_t dims) {
  return {.pairing = pairing, .dims = dims, .freqs = std::vector<float>(dims / 2, 0.5F), .magnitude = 1};
}

TEST(EvenNormsTest, ColumnsThatRopeTurnsTogetherHaveOneFactor) {
  const Norms norms = {{1, 1, 1, 1, 1, 1, 3, 3}, {8, 8, 1, 0.25F, 8, 8, 1, 0.25F}};
  const auto halves = norms.even(rope(RopePairing::kHalfSplit, 8));
  ASSERT_TRUE(halves);
  EXPECT_THAT(halves->k, ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(halves->q, ElementsAre(8, 8, 1, 0.25F, 8, 8, 3, 0.75F));
  const auto neighbours = norms.even(rope(RopePairing::kInterleaved, 8));
  ASSERT_TRUE(neighbours);
  // 1 and 1/4: their root mean square is 0.73, which stays.
  EXPECT_THAT(neighbours->k, ElementsAre(1, 1, 1, 0.25F, 1, 1, 1, 0.25F));
  EXPECT_THAT(neighbours->q, ElementsAre(8, 8, 1, 1, 8, 8, 3, 3));
}

TEST(EvenNormsTest, AColumnThatRopeLeavesHasAFactorOfItsOwn) {
  const Norms norms = {{1, 1, 1, 1, 1, 1}, {4, 2, 4, 2, 16, 0.125F}};
  const auto even = norms.even(rope(RopePairing::kHalfSplit, 4));
  ASSERT_TRUE(even);
  EXPECT_THAT(even->k, ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(even->q, ElementsAre(4, 2, 4, 2, 16, 0.125F));
}

TEST(EvenNormsTest, EveryPairComesNearOneAndEveryProductStays) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> exponent(-20, 20);
  for (const RopePairing pairing : {RopePairing::kInterleaved, RopePairing::kHalfSplit}) {
    for (const uint32_t dims : {2U, 32U, 64U}) {
      Norms norms;
      for (int i = 0; i < 64; ++i) {
        norms.q.push_back(std::exp2(exponent(random)));
        norms.k.push_back((i % 3 == 0 ? -1.0F : 1.0F) * std::exp2(exponent(random)));
      }
      const auto even = norms.even(rope(pairing, dims));
      ASSERT_TRUE(even);
      for (uint32_t i = 0; i < 64; ++i) {
        const uint32_t neighbour = pairing == RopePairing::kInterleaved ? i ^ 1 : (i + dims / 2) % dims;
        const uint32_t partner = i < dims ? neighbour : i;
        EXPECT_EQ(even->q[i] * even->k[i], norms.q[i] * norms.k[i]);
        EXPECT_EQ(even->k[i] / norms.k[i], even->k[partner] / norms.k[partner]) << i << " turns with " << partner;
        const double meanSquare = (std::pow(even->k[i], 2) + std::pow(even->k[partner], 2)) / 2;
        EXPECT_GE(meanSquare, 0.5);
        EXPECT_LT(meanSquare, 2);
      }
      const auto again = Norms{even->q, even->k}.even(rope(pairing, dims));
      ASSERT_TRUE(again);
      EXPECT_THAT(again->q, ElementsAreArray(even->q));
      EXPECT_THAT(again->k, ElementsAreArray(even->k));
    }
  }
}

TEST(EvenNormsTest, ZerosStay) {
  const auto even = Norms{{5, 5, 5, 5}, {0, 4, 0, 0}}.even(rope(RopePairing::kHalfSplit, 4));
  ASSERT_TRUE(even);
  EXPECT_THAT(even->k, ElementsAre(0, 1, 0, 0)) << "4 and 0: their root mean square is 2.8";
  EXPECT_THAT(even->q, ElementsAre(5, 20, 5, 20));
}

TEST(EvenNormsTest, LeavesLayersAloneThatItCannotKeepExact) {
  const RopeSpec pairs = rope(RopePairing::kHalfSplit, 2);
  const float most = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE((Norms{{1, 1}, {2, 2}}.even(pairs)));
  EXPECT_FALSE((Norms{{1, 1}, {2, NAN}}.even(pairs)));
  EXPECT_FALSE((Norms{{1, 1}, {2, inf}}.even(pairs)));
  EXPECT_FALSE((Norms{{1, NAN}, {2, 2}}.even(pairs)));
  EXPECT_FALSE((Norms{{1, -inf}, {2, 2}}.even(pairs)));
  EXPECT_FALSE((Norms{{1, most}, {4, 4}}.even(pairs))) << "the query's weight overflows";
  EXPECT_FALSE((Norms{{1, least}, {0.25F, 0.25F}}.even(pairs))) << "the query's weight becomes 0";
  EXPECT_FALSE((Norms{{1, 1}, {most, least}}.even(pairs))) << "the smaller of the keys' weights becomes 0";
}

TEST(EvenNormsTest, NeedsBothNormsOfOneHead) {
  const RopeSpec pairs = rope(RopePairing::kHalfSplit, 2);
  const Norms norms = {{1, 1}, {2, 2}};
  const auto changed = [&](auto change) {
    LayerSpec layer = norms.layer();
    change(layer);
    return evenHeadNorms(layer, pairs, 2);
  };
  EXPECT_TRUE(changed([](LayerSpec&) {}));
  EXPECT_FALSE(changed([](LayerSpec& layer) { layer.qNorm.reset(); }));
  EXPECT_FALSE(changed([](LayerSpec& layer) { layer.kNorm.reset(); }));
  EXPECT_FALSE(changed([](LayerSpec& layer) { layer.kNorm->dims = {1, 2}; }));
  EXPECT_FALSE(changed([](LayerSpec& layer) { layer.qNorm->type = DType::kI32; }));
  EXPECT_FALSE(changed([](LayerSpec& layer) { layer.qNorm->bytes = layer.qNorm->bytes.first(4); }));
  EXPECT_FALSE(evenHeadNorms(norms.layer(), pairs, 4));
  EXPECT_FALSE(evenHeadNorms(norms.layer(), rope(RopePairing::kHalfSplit, 4), 2)) << "rope is wider than the head";
}

}  // namespace
}  // namespace firn::import
