#include "engine/rope_turn.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "base/concat.h"
#include "base/row_i8.h"
#include "blob/card_limits.h"

namespace firn::engine {
namespace {

blob::ProgramHeader headerOf(uint32_t layers, uint32_t headDim) {
  blob::ProgramHeader header{};
  header.layers = layers;
  header.headDim = headDim;
  return header;
}

std::string cardOf(const std::string& ropes) { return R"({"architecture": "x", "rope": )" + ropes + "}"; }

TEST(RopesOfCardTest, ReadsEveryLayer) {
  const auto ropes = ropesOfCard(
      cardOf(R"([{"first_layer": 0, "layers": 2, "pairing": "half_split", "dims": 4, "frequencies": [1, 0.25]},
                 {"first_layer": 2, "layers": 1, "pairing": "interleaved", "dims": 2, "frequencies": [0.5]}])"),
      headerOf(3, 8));
  ASSERT_TRUE(ropes.isOk()) << ropes.status().toString();
  ASSERT_EQ(ropes->size(), 2U);
  EXPECT_EQ((*ropes)[0].layers, 2U);
  EXPECT_EQ((*ropes)[0].frequencies, (std::vector<float>{1, 0.25}));
  EXPECT_FALSE((*ropes)[0].isInterleaved);
  EXPECT_EQ((*ropes)[1].firstLayer, 2U);
  EXPECT_TRUE((*ropes)[1].isInterleaved);
  EXPECT_EQ((*ropes)[1].dims, 2U);
}

TEST(RopesOfCardTest, ManyLayersOfOneRopeTakeItOnce) {
  const uint32_t dims = 1 << 12;
  std::string frequencies = "1";
  for (uint32_t i = 1; i < dims / 2; ++i) frequencies += ",0";
  const auto ropes = ropesOfCard(
      cardOf(R"([{"first_layer": 0, "layers": 16777216, "pairing": "half_split", "dims": 4096, "frequencies": [)" +
             frequencies + "]}]"),
      headerOf(1 << 24, dims));
  ASSERT_TRUE(ropes.isOk()) << ropes.status().toString();
  ASSERT_EQ(ropes->size(), 1U);
  EXPECT_EQ(ropes->front().layers, 1U << 24);
}

TEST(RopesOfCardTest, NoneIsNoError) {
  const auto ropes = ropesOfCard(R"({"architecture": "x"})", headerOf(3, 8));
  ASSERT_TRUE(ropes.isOk());
  EXPECT_TRUE(ropes->empty());
}

TEST(RopesOfCardTest, RefusesWhatContradictsTheProgram) {
  for (
      const char* bad : {
          "1",
          "[1]",
          "[]",
          R"([{}])",
          R"([{"first_layer": 0, "layers": 1, "pairing": "half_split", "dims": 4, "frequencies": [1, 0.25]}])",
          R"([{"first_layer": 1, "layers": 2, "pairing": "half_split", "dims": 4, "frequencies": [1, 0.25]}])",
          R"([{"first_layer": 0, "layers": 3, "pairing": "half_split", "dims": 4, "frequencies": [1, 0.25]}])",
          R"([{"first_layer": 0, "layers": 18446744073709551615, "pairing": "half_split", "dims": 4, "frequencies": [1, 1]}])",
          R"([{"first_layer": 0, "layers": 0, "pairing": "half_split", "dims": 4, "frequencies": [1, 1]}])",
          R"([{"first_layer": 0, "layers": 2, "pairing": "other", "dims": 4, "frequencies": [1, 0.25]}])",
          R"([{"first_layer": 0, "layers": 2, "pairing": "half_split", "dims": 10, "frequencies": [1, 1, 1, 1, 1]}])",
          R"([{"first_layer": 0, "layers": 2, "pairing": "half_split", "dims": 3, "frequencies": [1]}])",
          R"([{"first_layer": 0, "layers": 2, "pairing": "half_split", "dims": 4, "frequencies": [1]}])",
          R"([{"first_layer": 0, "layers": 2, "pairing": "half_split", "dims": 4, "frequencies": [1, "a"]}])",
          R"([{"first_layer": 0, "layers": 2, "pairing": "half_split", "dims": 4, "frequencies": [1, 1e300]}])",
          R"([{"first_layer": 0, "layers": -1, "pairing": "half_split", "dims": 4, "frequencies": [1, 1]}])",
      }) {
    EXPECT_EQ(ropesOfCard(cardOf(bad), headerOf(2, 8)).status().code(), Code::kCorrupt) << bad;
  }
}

// The largest that an importer lets pass is let pass here.
TEST(RopesOfCardTest, FrequenciesHaveALimit) {
  const auto read = [](const char* frequency) {
    return ropesOfCard(cardOf(concat(R"([{"first_layer": 0, "layers": 2, "pairing": "half_split", "dims": 4, )",
                                     R"("frequencies": [1, )", frequency, "]}]")),
                       headerOf(2, 8));
  };
  for (const char* good : {"1e6", "-1e6", "999999.9"}) EXPECT_TRUE(read(good).isOk()) << good;
  for (const char* bad : {"1000000.01", "-1000000.01", "1e300"}) {
    EXPECT_EQ(read(bad).status().code(), Code::kCorrupt) << bad;
    EXPECT_NE(read(bad).status().message().find("no number or above 1000000"), std::string::npos) << bad;
  }
  EXPECT_TRUE(read(std::to_string(blob::kMostRopeFrequency).c_str()).isOk());
}

class RopeTurnTest : public testing::TestWithParam<bool> {};

TEST_P(RopeTurnTest, TurnsBackWhatTheRopeTurned) {
  constexpr uint32_t kDim = 10;  // two elements are not turned
  const LayerRope rope{.isInterleaved = GetParam(), .dims = 8, .frequencies = {1, 0.5F, 0.1F, 0.001F}};
  const auto turned = [&](uint32_t position) {
    std::vector<float> key(kDim);
    for (uint32_t i = 0; i < kDim; ++i) key[i] = static_cast<float>(i) - 4.5F;
    for (uint32_t i = 0; i < 4; ++i) {
      float& x = key[rope.isInterleaved ? 2 * i : i];
      float& y = key[rope.isInterleaved ? 2 * i + 1 : i + 4];
      const double angle = position * static_cast<double>(rope.frequencies[i]);
      const double a = x, b = y;
      x = static_cast<float>(a * std::cos(angle) - b * std::sin(angle));
      y = static_cast<float>(a * std::sin(angle) + b * std::cos(angle));
    }
    return key;
  };
  RopeTurn turn(kDim);
  turn.set(rope, 288);
  for (const uint32_t position : {288U, 300U, 1151U}) {
    const std::vector<float> expected = turned(position - 288);
    std::vector<float> key = turned(position);
    std::vector<uint16_t> half(kDim);
    for (uint32_t i = 0; i < kDim; ++i) half[i] = f32ToF16(key[i]);
    std::vector<int8_t> codes(kDim);
    float scale = quantizeRowI8(key, codes);
    const auto apply = [&](DType type, auto& values) {
      turn.apply(rope, {.type = type,
                        .headDim = kDim,
                        .count = 1,
                        .data = reinterpret_cast<std::byte*>(values.data()),
                        .scales = &scale});
    };
    apply(DType::kI8, codes);
    apply(DType::kF32, key);
    apply(DType::kF16, half);
    for (uint32_t i = 0; i < kDim; ++i) {
      EXPECT_NEAR(key[i], expected[i], 0x1p-22 * 7) << i;  // no pair is longer than 7
      EXPECT_NEAR(f16ToF32(half[i]), expected[i], 0x1p-10 * 7) << i;
      // Half a code before, which a turn mixes with that of the other of the pair, and half a code after.
      EXPECT_NEAR(scale * static_cast<float>(codes[i]), expected[i], (std::sqrt(2.0) + 1) * 7 / 254 * 1.01) << i;
    }
    EXPECT_EQ(key[8], expected[8]);
    EXPECT_EQ(key[9], expected[9]);
  }
}

INSTANTIATE_TEST_SUITE_P(Pairings, RopeTurnTest, testing::Bool());

}  // namespace
}  // namespace firn::engine
