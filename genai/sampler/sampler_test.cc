#include "genai/sampler/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace firn::genai {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMost = std::numeric_limits<float>::max();

int32_t best(std::vector<float> logits) { return *argmax(logits); }

TEST(ArgmaxTest, lowestIdAmongEquals) {
  EXPECT_EQ(best({1, 3, 3, 2}), 1);
  EXPECT_EQ(best({-0.0F, 0.0F}), 0);
  EXPECT_EQ(best({-5, kMost, -kMost}), 1);
  EXPECT_FALSE(argmax({}).isOk());
}

// Whatever is asked of them, wherever the bad one stands, and however many the others are.
TEST(CheckLogitsTest, oneThatIsNoNumberSpoilsTheRow) {
  for (const float bad : {kNan, -kNan, kInf, -kInf}) {
    for (const size_t size : {1, 2, 7, 64, 1000}) {
      for (const size_t at : {size_t{0}, size / 2, size - 1}) {
        std::vector<float> logits(size, 1.0F);
        EXPECT_TRUE(checkLogits(logits).isOk());
        logits[at] = bad;
        const Status status = checkLogits(logits);
        EXPECT_EQ(status.code(), Code::kCorrupt);
        EXPECT_NE(status.message().find("1 of " + std::to_string(size) + " logits are NaN"), std::string::npos);
        EXPECT_EQ(argmax(logits).status().code(), Code::kCorrupt);
        for (const float temperature : {0.0F, 1.0F}) {
          Sampler sampler = *Sampler::make({.temperature = temperature, .seed = 1});
          EXPECT_EQ(sampler.sample(logits).status().code(), Code::kCorrupt);
          EXPECT_EQ(sampler.sample(logits, 0).status().code(), Code::kCorrupt) << "as a device said";
        }
      }
    }
  }
  const float extreme[] = {kMost, -kMost, 0, -0.0F, std::numeric_limits<float>::denorm_min()};
  EXPECT_TRUE(checkLogits(extreme).isOk());
  EXPECT_EQ(checkLogits({}).code(), Code::kInvalidArgument);
}

TEST(SamplerTest, refusesBadTemperatures) {
  for (const float t : {-1.0F, -1e-9F, kNan, kInf, -kInf, 2e6F}) {
    EXPECT_EQ(Sampler::make({.temperature = t}).status().code(), Code::kInvalidArgument) << t;
  }
}

// A caller that knows the best token spares a search and changes no draw.
TEST(SamplerTest, theBestTokenMayBeGiven) {
  const float logits[] = {1, -kMost, 3, 3, -9, 2.5F};
  Sampler searching = *Sampler::make({.temperature = 1, .seed = 9});
  Sampler told = *Sampler::make({.temperature = 1, .seed = 9});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*told.sample(logits, 2), *searching.sample(logits));
}

// A list that a device made of nothing must not pass for an answer.
TEST(SamplerTest, whatCannotBeTheBestTokenIsSearched) {
  const float logits[] = {1, 0, 3, 2};
  Sampler sampler = *Sampler::make({});
  for (const int32_t told : {-1, 4, INT32_MAX}) EXPECT_EQ(*sampler.sample(logits, told), 2);
}

TEST(SamplerTest, greedyWhateverTheSeed) {
  const float logits[] = {0, 2, 2, 1.9999F};
  for (const float t : {0.0F, -0.0F, 1e-9F}) {
    for (const uint64_t seed : {0ULL, 1ULL, ~0ULL}) {
      Sampler sampler = *Sampler::make({.temperature = t, .seed = seed});
      for (int i = 0; i < 20; ++i) EXPECT_EQ(*sampler.sample(logits), 1);
      EXPECT_EQ(*sampler.sample(logits, 2), 2) << "as the caller said";
    }
  }
}

// The share of each id in many draws, against softmax(logits / temperature) computed by hand.
void expectShares(float temperature, const std::vector<double>& expected) {
  std::vector<float> logits;
  for (const double p : {0.1, 0.2, 0.3, 0.4}) logits.push_back(static_cast<float>(std::log(p)));
  Sampler sampler = *Sampler::make({.temperature = temperature, .seed = 42});
  std::vector<double> count(4);
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) ++count[static_cast<size_t>(*sampler.sample(logits))];
  for (size_t id = 0; id < 4; ++id) {
    // Five standard deviations.
    EXPECT_NEAR(count[id] / kDraws, expected[id], 5 * std::sqrt(0.25 / kDraws)) << temperature << " id " << id;
  }
}

TEST(SamplerTest, drawsBySoftmaxOfTheTemperature) {
  expectShares(1, {0.1, 0.2, 0.3, 0.4});
  expectShares(0.5, {0.033333, 0.133333, 0.3, 0.533333});
  expectShares(2, {0.1627, 0.230093, 0.281805, 0.325401});
}

TEST(SamplerTest, sameSeedSameTokens) {
  const std::vector<float> logits(100, 0.0F);
  Sampler a = *Sampler::make({.temperature = 1, .seed = 9});
  Sampler b = *Sampler::make({.temperature = 1, .seed = 9});
  Sampler c = *Sampler::make({.temperature = 1, .seed = 10});
  int differing = 0;
  for (int i = 0; i < 200; ++i) {
    const int32_t id = *a.sample(logits);
    EXPECT_EQ(id, *b.sample(logits));
    if (id != *c.sample(logits)) ++differing;
  }
  EXPECT_GT(differing, 150);
}

TEST(SamplerTest, theSmallestLogitsAreNeverDrawn) {
  Sampler sampler = *Sampler::make({.temperature = 100, .seed = 1});
  const float some[] = {-kMost, 0, -kMost, 1, -kMost};
  for (int i = 0; i < 1000; ++i) {
    const int32_t id = *sampler.sample(some);
    EXPECT_TRUE(id == 1 || id == 3) << id;
  }
  EXPECT_FALSE(sampler.sample({}).isOk());
}

TEST(Pcg32Test, givesTheNumbersOfItsReference) {
  // pcg_oneseq_64_xsh_rr_32 seeded with 42, from the formulas of the paper in exact integers.
  Pcg32 random(42);
  const uint32_t expected[] = {0xC2F57BD6U, 0x6B07C4A9U, 0x72B7B29BU, 0x44215383U, 0xF5AF5EADU, 0x68BEB632U};
  for (const uint32_t value : expected) EXPECT_EQ(random.next(), value);
  for (int i = 0; i < 1000; ++i) {
    const double u = random.uniform();
    EXPECT_GE(u, 0);
    EXPECT_LT(u, 1);
  }
}

}  // namespace
}  // namespace firn::genai
