// Weight formats: dequantization against recorded and independently written values, and packing to panels, which must
// lose nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "blob/extent.h"
#include "kernels/quant/panel.h"

namespace firn::quant {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::array kTypes{DType::kF32, DType::kF16, DType::kBf16, DType::kQ4_0, DType::kQ4_1, DType::kQ8_0};

std::string typeName(const testing::TestParamInfo<DType>& info) { return std::string(dtypeInfo(info.param)->name); }

Bytes randomBytes(uint64_t size, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::vector<uint32_t> identity(uint32_t rows) {
  std::vector<uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

/// The bits of values of a type. Arithmetic on NaN may give any NaN (the sum of two depends on the order of operands),
/// so where weights are computed all NaN count as one.
std::vector<uint32_t> bitsOf(DType type, std::span<const float> values) {
  std::vector<uint32_t> bits;
  for (const float value : values) {
    bits.push_back(dtypeInfo(type)->isQuantized && std::isnan(value) ? 0x7FC00000U : std::bit_cast<uint32_t>(value));
  }
  return bits;
}

std::vector<uint32_t> dequantizedBits(DType type, std::span<const std::byte> row, uint64_t columns) {
  std::vector<float> values(columns);
  dequantizeRow(type, row, values);
  return bitsOf(type, values);
}

std::vector<uint32_t> unpackedBits(DType type, const Bytes& packed, uint64_t row, uint64_t columns) {
  std::vector<float> values(columns);
  unpackPanelRow(type, packed, row, columns, values);
  return bitsOf(type, values);
}

/// fp16 to fp32 by the definition of the format, in double.
float f16Value(uint32_t bits) {
  const uint32_t exponent = (bits >> 10) & 31;
  const double mantissa = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, static_cast<int>(exponent) - 25);
  return static_cast<float>((bits & 0x8000) != 0 ? -magnitude : magnitude);
}

/// Weight k of a row, by the text of the GGUF specification; finite scales only. Not shared with the code under test.
float expectedWeight(DType type, const std::byte* row, uint64_t k) {
  const auto byteAt = [row](uint64_t i) { return static_cast<uint32_t>(row[i]); };
  const auto wordAt = [&](uint64_t i) { return byteAt(i) | byteAt(i + 1) << 8; };
  const uint64_t block = k / 32;
  const uint64_t i = k % 32;
  const auto nibble = [&](uint64_t codes) { return i < 16 ? byteAt(codes + i) & 15 : byteAt(codes + i - 16) >> 4; };
  switch (type) {
    case DType::kF32: return std::bit_cast<float>(wordAt(4 * k) | wordAt(4 * k + 2) << 16);
    case DType::kF16: return f16Value(wordAt(2 * k));
    case DType::kBf16: return std::bit_cast<float>(wordAt(2 * k) << 16);
    case DType::kQ4_0: return f16Value(wordAt(18 * block)) * (static_cast<float>(nibble(18 * block + 2)) - 8.0F);
    case DType::kQ4_1: {
      const float product = f16Value(wordAt(20 * block)) * static_cast<float>(nibble(20 * block + 4));
      return product + f16Value(wordAt(20 * block + 2));
    }
    case DType::kQ8_0: {
      const uint32_t code = byteAt(34 * block + 2 + i);
      return f16Value(wordAt(34 * block)) * (code < 128 ? static_cast<float>(code) : static_cast<float>(code) - 256.0F);
    }
    default: ADD_FAILURE() << "no expectation for this type"; return 0;
  }
}

/// Clears the top exponent bit of every f16, bf16 or f32 in a row, so that all of them are finite.
void makeFinite(DType type, Bytes& bytes) {
  const DTypeInfo& info = *dtypeInfo(type);
  for (uint64_t block = 0; block * info.blockBytes < bytes.size(); ++block) {
    std::byte* start = bytes.data() + block * info.blockBytes;
    start[type == DType::kF32 ? 3 : 1] &= std::byte{0xBF};
    if (type == DType::kQ4_1) start[3] &= std::byte{0xBF};
  }
}

class QuantTest : public testing::TestWithParam<DType> {
 protected:
  uint64_t rowBytes(uint64_t columns) const { return *dtypeBytes(GetParam(), columns); }

  Bytes packAll(const Bytes& source, uint32_t rows, uint64_t columns) const {
    Bytes packed(*packedBytes(GetParam(), rows, columns), std::byte{0xEE});
    const Status status = packPanels({GetParam(), source, columns, 0, columns}, identity(rows), packed);
    EXPECT_TRUE(status.isOk()) << status.toString();
    return packed;
  }
};

TEST_P(QuantTest, DequantizesByTheSpecification) {
  constexpr uint64_t kColumns = 256;
  Bytes source = randomBytes(rowBytes(kColumns), 5);
  makeFinite(GetParam(), source);
  std::vector<float> expected;
  for (uint64_t k = 0; k < kColumns; ++k) expected.push_back(expectedWeight(GetParam(), source.data(), k));
  EXPECT_EQ(dequantizedBits(GetParam(), source, kColumns), bitsOf(GetParam(), expected));
}

TEST_P(QuantTest, PackingLosesNothing) {
  // Random bytes hold NaN, infinite and subnormal scales too.
  for (const uint32_t rows : {1U, 15U, 16U, 17U, 33U}) {
    for (const uint64_t columns : {32U, 64U, 576U}) {
      const Bytes source = randomBytes(rows * rowBytes(columns), rows + static_cast<uint32_t>(columns));
      const Bytes packed = packAll(source, rows, columns);
      for (uint32_t row = 0; row < rows; ++row) {
        const std::span<const std::byte> sourceRow(source.data() + row * rowBytes(columns), rowBytes(columns));
        ASSERT_EQ(unpackedBits(GetParam(), packed, row, columns), dequantizedBits(GetParam(), sourceRow, columns))
            << rows << " x " << columns << ", row " << row;
      }
    }
  }
}

TEST_P(QuantTest, ExtremeBytesSurvive) {
  for (const int fill : {0x00, 0x01, 0x7C, 0x7F, 0x80, 0xFF}) {
    const Bytes source(rowBytes(64), static_cast<std::byte>(fill));
    const Bytes packed = packAll(source, 1, 64);
    EXPECT_EQ(unpackedBits(GetParam(), packed, 0, 64), dequantizedBits(GetParam(), source, 64)) << "bytes " << fill;
  }
}

TEST_P(QuantTest, RowsBeyondTheMatrixAreZeroBytes) {
  constexpr uint64_t kColumns = 96;
  // 17 rows: the second panel holds one, and 15 that are not of the matrix.
  Bytes source = randomBytes(17 * rowBytes(kColumns), 3);
  const Bytes packed = packAll(source, 17, kColumns);
  for (uint64_t row = 17; row < 32; ++row) {
    for (const uint32_t bits : unpackedBits(GetParam(), packed, row, kColumns)) EXPECT_EQ(bits & 0x7FFFFFFFU, 0U);
  }
  source.assign(source.size(), std::byte{0xFF});
  const Bytes ones = packAll(source, 17, kColumns);
  const PanelShape shape = *panelShape(GetParam(), kColumns);
  const auto isZero = [](std::byte byte) { return byte == std::byte{0}; };
  const auto zeros = std::count_if(ones.begin() + static_cast<int64_t>(shape.panelBytes), ones.end(), isZero);
  // One of 16 rows is used; of the rest every byte is zero. (0xFF codes of q8_0 are stored as 0x7F.)
  EXPECT_EQ(static_cast<uint64_t>(zeros), shape.panelBytes - rowBytes(kColumns));
}

TEST_P(QuantTest, PacksARectangleInAnotherRowOrder) {
  constexpr uint64_t kColumns = 256;
  constexpr uint32_t kRows = 20;
  const Bytes source = randomBytes(kRows * rowBytes(kColumns), 9);
  std::vector<uint32_t> order{19, 0, 7, 7, 3, 18, 1, 2, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14};
  const PackSource rectangle{GetParam(), source, kColumns, 96, 64};
  Bytes packed(*packedBytes(GetParam(), order.size(), 64));
  ASSERT_TRUE(packPanels(rectangle, order, packed).isOk());
  for (uint64_t i = 0; i < order.size(); ++i) {
    const std::vector<uint32_t> whole = dequantizedBits(
        GetParam(), std::span(source).subspan(order[i] * rowBytes(kColumns), rowBytes(kColumns)), kColumns);
    EXPECT_EQ(unpackedBits(GetParam(), packed, i, 64), std::vector<uint32_t>(whole.begin() + 96, whole.begin() + 160));
  }
}

TEST_P(QuantTest, RefusesSizesThatDoNotFit) {
  constexpr uint64_t kColumns = 64;
  const Bytes source = randomBytes(2 * rowBytes(kColumns), 1);
  Bytes out(*packedBytes(GetParam(), 2, kColumns));
  const std::vector<uint32_t> order = identity(2);
  const PackSource good{GetParam(), source, kColumns, 0, kColumns};
  EXPECT_TRUE(packPanels(good, order, out).isOk());
  EXPECT_EQ(packPanels(good, order, std::span(out).first(out.size() - 1)).code(), Code::kInternal);
  EXPECT_EQ(packPanels(good, std::vector<uint32_t>{0, 2}, out).code(), Code::kInternal);
  PackSource bad = good;
  bad.firstColumn = 32;
  EXPECT_EQ(packPanels(bad, order, out).code(), Code::kInternal);
  bad = good;
  bad.bytes = bad.bytes.first(bad.bytes.size() - 1);
  EXPECT_EQ(packPanels(bad, order, out).code(), Code::kInternal);
  bad = good;
  bad.columns = 0;
  EXPECT_EQ(packPanels(bad, order, out).code(), Code::kInternal);
}

TEST_P(QuantTest, SizesAreCheckedForOverflow) {
  EXPECT_FALSE(panelShape(GetParam(), ~uint64_t{31}));
  EXPECT_FALSE(packedBytes(GetParam(), ~uint64_t{0}, 1U << 20));
  EXPECT_EQ(packedBytes(GetParam(), 0, 64), 0U);
  EXPECT_EQ(panelShape(GetParam(), 31).has_value(), !dtypeInfo(GetParam())->isQuantized);
  EXPECT_EQ(*packedBytes(GetParam(), 17, 64), 2 * panelShape(GetParam(), 64)->panelBytes);
  EXPECT_EQ(panelShape(GetParam(), 96)->panelBytes % 64, 0U);
}

// The verifier of blobs counts by itself; a kernel that reads more than it counts would leave the weights.
TEST_P(QuantTest, TheVerifierCountsTheSameBytes) {
  for (const uint64_t rows : {1, 15, 16, 17, 49152}) {
    for (const uint64_t columns : {1, 31, 32, 33, 64, 96, 576, 1536}) {
      EXPECT_EQ(blob::panelBytes(GetParam(), rows, columns), packedBytes(GetParam(), rows, columns))
          << rows << " x " << columns;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, QuantTest, testing::ValuesIn(kTypes), typeName);

TEST(PanelTest, TypesWithoutPanelsHaveNoShape) {
  EXPECT_FALSE(panelShape(DType::kI32, 64));
  EXPECT_FALSE(packedBytes(DType::kI8, 16, 64));
}

// One q4_1 panel byte by byte, as the kernels of the cpu target read it.
TEST(PanelTest, Q41BytesAreWherePanelHSays) {
  constexpr uint64_t kColumns = 96;
  constexpr uint64_t kRowBytes = 60;
  const Bytes source = randomBytes(16 * kRowBytes, 21);
  Bytes packed(*packedBytes(DType::kQ4_1, 16, kColumns));
  ASSERT_TRUE(packPanels({DType::kQ4_1, source, kColumns, 0, kColumns}, identity(16), packed).isOk());
  const PanelShape shape = *panelShape(DType::kQ4_1, kColumns);
  EXPECT_EQ(shape.scalesOffset, 768U);
  EXPECT_EQ(shape.minsOffset, 896U);  // 96 bytes of scales, padded to 128
  EXPECT_EQ(shape.panelBytes, 1024U);
  for (uint32_t g = 0; g < 3; ++g) {
    for (uint32_t r = 0; r < 16; ++r) {
      const std::byte* block = source.data() + r * kRowBytes + g * 20;
      EXPECT_EQ(std::memcmp(packed.data() + 768 + (g * 16 + r) * 2, block, 2), 0);
      EXPECT_EQ(std::memcmp(packed.data() + 896 + (g * 16 + r) * 2, block + 2, 2), 0);
      for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(packed[g * 256 + i / 4 * 64 + 4 * r + i % 4], block[4 + i]);
    }
  }
}

TEST(PanelTest, Q80CodesAreUnsigned) {
  Bytes source(34, std::byte{0});
  source[2] = std::byte{0x80};   // -128
  source[33] = std::byte{0x7F};  // 127
  Bytes packed(*packedBytes(DType::kQ8_0, 1, 32));
  ASSERT_TRUE(packPanels({DType::kQ8_0, source, 32, 0, 32}, identity(1), packed).isOk());
  EXPECT_EQ(packed[0], std::byte{0});             // k = 0
  EXPECT_EQ(packed[1], std::byte{128});           // k = 1
  EXPECT_EQ(packed[7 * 64 + 3], std::byte{255});  // k = 31
  EXPECT_EQ(packed[4], std::byte{0});             // row 1 is beyond the matrix
}

TEST(PanelTest, FloatPanelsAreColumnMajorInsideAPanel) {
  std::vector<uint16_t> values(16 * 3);
  std::iota(values.begin(), values.end(), uint16_t{0});
  Bytes packed(*packedBytes(DType::kF16, 16, 3));
  ASSERT_EQ(packed.size(), 128U);  // 96 bytes, padded
  ASSERT_TRUE(packPanels({DType::kF16, std::as_bytes(std::span(values)), 3, 0, 3}, identity(16), packed).isOk());
  uint16_t element = 0;
  std::memcpy(&element, packed.data() + (2 * 16 + 5) * 2, 2);
  EXPECT_EQ(element, values[5 * 3 + 2]);
}

/// A block of random bytes, and its weights as gguf-py 0.19 dequantizes them (bits of fp32).
struct Recorded {
  DType type;
  std::vector<uint8_t> block;
  std::array<uint32_t, 32> weights;
};

const std::array kRecorded{
    Recorded{
        DType::kQ4_0,
        {0x4c, 0x22, 0x22, 0x79, 0xf3, 0xbd, 0x06, 0x83, 0x66, 0xa8, 0x52, 0xc1, 0xbb, 0x96, 0x51, 0xf3, 0xcd, 0x18},
        {0xbd972000, 0x3c498000, 0xbd7be000, 0x3d7be000, 0xbcc98000, 0xbd7be000, 0xbcc98000, 0x00000000,
         0xbd972000, 0xbdb05000, 0x3d172000, 0xbcc98000, 0xbdb05000, 0xbd7be000, 0x3d7be000, 0x00000000,
         0xbd972000, 0xbc498000, 0x3db05000, 0x3d172000, 0xbdc98000, 0x00000000, 0xbcc98000, 0x3cc98000,
         0xbd172000, 0x3d498000, 0x3d172000, 0x3c498000, 0xbd172000, 0x3db05000, 0x3d498000, 0xbdb05000}},
    Recorded{DType::kQ4_1,
             {0x4c, 0x22, 0xf6, 0xb4, 0x48, 0x03, 0xf9, 0x42, 0x64, 0x71,
              0xfb, 0x1b, 0x63, 0xea, 0x69, 0x4c, 0x1e, 0xb1, 0xef, 0x69},
             {0xbe58c000, 0xbe8bdc00, 0xbe4c2800, 0xbe922800, 0xbe859000, 0xbe987400, 0xbe32f800, 0xbe32f800,
              0xbe8bdc00, 0xbe3f9000, 0xbe4c2800, 0xbe266000, 0xbe0d3000, 0xbe987400, 0xbe009800, 0xbe4c2800,
              0xbe859000, 0xbe9ec000, 0xbe009800, 0xbe859000, 0xbe71f000, 0xbe655800, 0xbe009800, 0xbe987400,
              0xbe71f000, 0xbe0d3000, 0xbe71f000, 0xbe859000, 0xbe987400, 0xbe32f800, 0xbe0d3000, 0xbe71f000}},
    Recorded{DType::kQ8_0,
             {0x4c, 0x22, 0xbe, 0xcf, 0x93, 0x1a, 0xed, 0x15, 0xf5, 0xd3, 0xef, 0x2d, 0x05, 0x9d, 0x9f, 0x3c, 0x36,
              0xec, 0x6d, 0x2e, 0xc7, 0x52, 0x20, 0xcd, 0x24, 0x07, 0x86, 0xde, 0x39, 0x92, 0x08, 0x95, 0x0e, 0x0f},
             {0xbf4fcc00, 0xbf1a4600, 0xbfab9700, 0x3ea3b800, 0xbe6f4800, 0x3e843c00, 0xbe0a8800, 0xbf0dae00,
              0xbe561800, 0x3f0dae00, 0x3d7be000, 0xbf9bd900, 0xbf98b300, 0x3f3ce800, 0x3f2a0400, 0xbe7be000,
              0x3fab9700, 0x3f10d400, 0xbf337600, 0x3f811600, 0x3ec98000, 0xbf209200, 0x3ee2b000, 0x3db05000,
              0xbfc00e00, 0xbed61800, 0x3f337600, 0xbfad2a00, 0x3dc98000, 0xbfa87100, 0x3e305000, 0x3e3ce800}},
};

TEST(DequantizeTest, AgreesWithGgufPy) {
  for (const Recorded& recorded : kRecorded) {
    EXPECT_EQ(dequantizedBits(recorded.type, std::as_bytes(std::span(recorded.block)), 32),
              std::vector<uint32_t>(recorded.weights.begin(), recorded.weights.end()))
        << dtypeInfo(recorded.type)->name;
  }
}

}  // namespace
}  // namespace firn::quant
