#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "kernels/quant/panel.h"
#include "kernels/reference/embed.h"
#include "kernels/reference/linear.h"

namespace firn::reference {
namespace {

using testing::ElementsAre;

std::vector<float> randomFloats(uint64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

WeightView f32Weights(const std::vector<float>& values, uint64_t rows) {
  const uint64_t columns = values.size() / rows;
  return {DType::kF32, std::as_bytes(std::span(values)).data(), rows, columns, columns};
}

/// A matrix of `type` with random codes and scales of moderate size.
std::vector<std::byte> randomMatrix(DType type, uint64_t elements) {
  std::mt19937 random(11);
  const DTypeInfo& info = *dtypeInfo(type);
  std::vector<std::byte> bytes(*dtypeBytes(type, elements));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (uint64_t at = 0; at < bytes.size(); at += info.blockBytes) {
    // The sign of every number stays, its exponent is near that of 1/16.
    if (type == DType::kBf16 || type == DType::kF32) {
      bytes[at + info.blockBytes - 1] = (bytes[at + info.blockBytes - 1] & std::byte{0x80}) | std::byte{0x3D};
    } else if (type == DType::kQ6_K) {
      bytes[at + 209] = (bytes[at + 209] & std::byte{0x83}) | std::byte{0x2C};
    } else {
      bytes[at + 1] = (bytes[at + 1] & std::byte{0x83}) | std::byte{0x2C};
    }
    if (type == DType::kQ4_1 || type == DType::kQ5_1 || type == DType::kQ4_K || type == DType::kQ5_K) {
      bytes[at + 3] = (bytes[at + 3] & std::byte{0x83}) | std::byte{0x30};
    }
  }
  return bytes;
}

TEST(LinearTest, SmallProductByHand) {
  const std::vector<float> weight{1, 2, 3, 4, 5, 6};
  const std::vector<float> bias{100, 200};
  const std::vector<float> in{1, 0, -1, -9, 2, 2, 2, -9};
  std::vector<float> out(6, -5);
  LinearArgs args{
      .in = {in.data(), 2, 3, 4}, .weight = f32Weights(weight, 2), .bias = {}, .out = {out.data(), 2, 2, 3}};
  linear(args);
  EXPECT_THAT(out, ElementsAre(-2, -2, -5, 12, 30, -5));
  args.bias = f32Weights(bias, 1);
  linear(args);
  EXPECT_THAT(out, ElementsAre(98, 198, -5, 112, 230, -5));
}

class LinearTypeTest : public testing::TestWithParam<DType> {};

TEST_P(LinearTypeTest, AgreesWithTheProductInDouble) {
  constexpr uint64_t kN = 7;
  constexpr uint64_t kRows = 3;
  const uint64_t block = std::max(32U, dtypeInfo(GetParam())->blockElements);
  for (const uint64_t columns : {block, kWeightPiece, kWeightPiece + block, 2 * kWeightPiece + 2 * block}) {
    const std::vector<std::byte> bytes = randomMatrix(GetParam(), kN * columns);
    const std::vector<float> in = randomFloats(kRows * columns, 4);
    std::vector<float> out(kRows * kN);
    linear({.in = {in.data(), kRows, columns, columns},
            .weight = {GetParam(), bytes.data(), kN, columns, columns},
            .bias = {},
            .out = {out.data(), kRows, kN, kN}});
    std::vector<float> row(columns);
    for (uint64_t n = 0; n < kN; ++n) {
      const uint64_t rowBytes = bytes.size() / kN;
      quant::dequantizeRow(GetParam(), std::span(bytes).subspan(n * rowBytes, rowBytes), row);
      for (uint64_t i = 0; i < kRows; ++i) {
        double sum = 0;
        double magnitude = 0;
        for (uint64_t k = 0; k < columns; ++k) {
          const double product = static_cast<double>(row[k]) * in[i * columns + k];
          sum += product;
          magnitude += std::fabs(product);
        }
        // Each product passes at most 64 roundings inside a piece, 4 in the fold and one per piece.
        EXPECT_NEAR(out[i * kN + n], sum, magnitude * 72 * 0x1p-24) << columns << " columns, output " << i << ", " << n;
      }
    }
  }
}

TEST_P(LinearTypeTest, ARowDoesNotDependOnItsBatch) {
  constexpr uint64_t kColumns = 1280;
  constexpr uint64_t kN = 5;
  constexpr uint64_t kRows = 4;
  const std::vector<std::byte> bytes = randomMatrix(GetParam(), kN * kColumns);
  const std::vector<float> in = randomFloats(kRows * kColumns, 8);
  const WeightView weight{GetParam(), bytes.data(), kN, kColumns, kColumns};
  std::vector<float> together(kRows * kN);
  std::vector<float> alone(kRows * kN);
  linear({.in = {in.data(), kRows, kColumns, kColumns},
          .weight = weight,
          .bias = {},
          .out = {together.data(), kRows, kN, kN}});
  for (uint64_t i = 0; i < kRows; ++i) {
    linear({.in = {in.data() + i * kColumns, 1, kColumns, kColumns},
            .weight = weight,
            .bias = {},
            .out = {alone.data() + i * kN, 1, kN, kN}});
  }
  EXPECT_EQ(together, alone);
}

INSTANTIATE_TEST_SUITE_P(Types, LinearTypeTest,
                         testing::Values(DType::kF32, DType::kF16, DType::kBf16, DType::kQ4_0, DType::kQ4_1,
                                         DType::kQ8_0, DType::kQ5_0, DType::kQ5_1, DType::kQ4_K, DType::kQ5_K,
                                         DType::kQ6_K),
                         [](const auto& info) { return std::string(dtypeInfo(info.param)->name); });

TEST(EmbedTest, CopiesTheRowsOfTheIds) {
  const std::vector<float> table{0, 1, 10, 11, 20, 21};
  const std::vector<int32_t> ids{2, 0, 2};
  std::vector<float> out(9, -1);
  embed({.ids = ids.data(), .table = f32Weights(table, 3), .out = {out.data(), 3, 2, 3}});
  EXPECT_THAT(out, ElementsAre(20, 21, -1, 0, 1, -1, 20, 21, -1));
}

TEST(EmbedTest, DequantizesQuantizedTables) {
  const std::vector<std::byte> table = randomMatrix(DType::kQ4_1, 3 * 64);
  const std::vector<int32_t> ids{1};
  std::vector<float> out(64);
  std::vector<float> expected(64);
  embed({.ids = ids.data(), .table = {DType::kQ4_1, table.data(), 3, 64, 64}, .out = {out.data(), 1, 64, 64}});
  quant::dequantizeRow(DType::kQ4_1, std::span(table).subspan(40, 40), expected);
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace firn::reference
