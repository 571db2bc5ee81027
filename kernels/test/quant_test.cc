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

constexpr std::array kTypes{DType::kF32,  DType::kF16,  DType::kBf16, DType::kQ4_0, DType::kQ4_1, DType::kQ8_0,
                            DType::kQ5_0, DType::kQ5_1, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

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

/// Code i of a super-block, by the bits of its planes: `nibbles` and `fifths` are byte offsets in the block.
uint32_t superCode(const std::byte* block, uint64_t nibbles, uint64_t fifths, uint64_t i) {
  const uint64_t group = i / 32;
  const auto byte = static_cast<uint32_t>(block[nibbles + i / 64 * 32 + i % 32]);
  const uint32_t nibble = group % 2 == 0 ? byte % 16 : byte / 16;
  return fifths == 0 ? nibble : nibble + ((static_cast<uint32_t>(block[fifths + i % 32]) >> group) % 2) * 16;
}

/// Weight i of a q4_k or q5_k block: 12 bytes from the fifth on hold eight 6-bit scales and eight 6-bit mins.
float superWeight(const std::byte* block, uint32_t code, uint64_t i) {
  const auto byteAt = [block](uint64_t at) { return static_cast<uint32_t>(block[at]); };
  const uint64_t g = i / 32;
  uint32_t scale = byteAt(4 + g) % 64;
  uint32_t min = byteAt(8 + g) % 64;
  if (g >= 4) {
    scale = byteAt(8 + g) % 16 + byteAt(g) / 64 * 16;
    min = byteAt(8 + g) / 16 + byteAt(4 + g) / 64 * 16;
  }
  const float d = f16Value(byteAt(0) | byteAt(1) << 8) * static_cast<float>(scale);
  const float dmin = f16Value(byteAt(2) | byteAt(3) << 8) * static_cast<float>(min);
  return d * static_cast<float>(code) - dmin;
}

/// Weight i of a q6_k block.
float weightOf6Bits(const std::byte* block, uint64_t i) {
  const auto byteAt = [block](uint64_t at) { return static_cast<uint32_t>(block[at]); };
  const uint64_t half = i / 128;
  const uint64_t quarter = i % 128 / 32;
  const uint32_t byte = byteAt(64 * half + i % 64);
  const uint32_t nibble = i % 128 < 64 ? byte % 16 : byte / 16;
  const uint32_t pair = byteAt(128 + 32 * half + i % 32) >> (2 * quarter) & 3;
  const auto scale = static_cast<int8_t>(block[192 + i / 16]);
  const float d = f16Value(byteAt(208) | byteAt(209) << 8);
  return d * static_cast<float>(scale) * (static_cast<float>(nibble + 16 * pair) - 32.0F);
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
    case DType::kQ5_0:
    case DType::kQ5_1: {
      const bool hasMin = type == DType::kQ5_1;
      const uint64_t start = (hasMin ? 24 : 22) * block;
      const uint64_t bits = start + (hasMin ? 4 : 2);
      const uint32_t code = nibble(bits + 4) + (byteAt(bits + i / 8) >> (i % 8) & 1) * 16;
      if (!hasMin) return f16Value(wordAt(start)) * (static_cast<float>(code) - 16.0F);
      return f16Value(wordAt(start)) * static_cast<float>(code) + f16Value(wordAt(start + 2));
    }
    case DType::kQ4_K: {
      const std::byte* super = row + 144 * (k / 256);
      return superWeight(super, superCode(super, 16, 0, k % 256), k % 256);
    }
    case DType::kQ5_K: {
      const std::byte* super = row + 176 * (k / 256);
      return superWeight(super, superCode(super, 48, 16, k % 256), k % 256);
    }
    case DType::kQ6_K: return weightOf6Bits(row + 210 * (k / 256), k % 256);
    default: ADD_FAILURE() << "no expectation for this type"; return 0;
  }
}

/// Types whose blocks start with a scale and a min.
bool hasMins(DType type) {
  return type == DType::kQ4_1 || type == DType::kQ5_1 || type == DType::kQ4_K || type == DType::kQ5_K;
}

/// Clears the top exponent bit of every f16, bf16 or f32 in a row, so that all of them are finite.
void makeFinite(DType type, Bytes& bytes) {
  const DTypeInfo& info = *dtypeInfo(type);
  for (uint64_t block = 0; block * info.blockBytes < bytes.size(); ++block) {
    std::byte* start = bytes.data() + block * info.blockBytes;
    start[type == DType::kF32 ? 3 : type == DType::kQ6_K ? 209 : 1] &= std::byte{0xBF};
    if (hasMins(type)) start[3] &= std::byte{0xBF};
  }
}

class QuantTest : public testing::TestWithParam<DType> {
 protected:
  uint64_t rowBytes(uint64_t columns) const { return *dtypeBytes(GetParam(), columns); }

  /// Columns of a source row: a whole number of blocks of every type, and of at least 32.
  static uint64_t blocks(uint64_t count) { return count * std::max(32U, dtypeInfo(GetParam())->blockElements); }

  Bytes packAll(const Bytes& source, uint32_t rows, uint64_t columns) const {
    Bytes packed(*panelBytes(GetParam(), rows, columns), std::byte{0xEE});
    const Status status = packPanels({GetParam(), source, columns, 0, columns}, identity(rows), packed);
    EXPECT_TRUE(status.isOk()) << status.toString();
    return packed;
  }
};

TEST_P(QuantTest, DequantizesByTheSpecification) {
  constexpr uint64_t kColumns = 512;
  Bytes source = randomBytes(rowBytes(kColumns), 5);
  makeFinite(GetParam(), source);
  std::vector<float> expected;
  for (uint64_t k = 0; k < kColumns; ++k) expected.push_back(expectedWeight(GetParam(), source.data(), k));
  EXPECT_EQ(dequantizedBits(GetParam(), source, kColumns), bitsOf(GetParam(), expected));
}

TEST_P(QuantTest, PackingLosesNothing) {
  // Random bytes hold NaN, infinite and subnormal scales too.
  for (const uint32_t rows : {1U, 15U, 16U, 17U, 33U}) {
    for (const uint64_t columns : {blocks(1), blocks(2), blocks(18)}) {
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
  const uint64_t columns = blocks(2);
  for (const int fill : {0x00, 0x01, 0x7C, 0x7F, 0x80, 0xFF}) {
    const Bytes source(rowBytes(columns), static_cast<std::byte>(fill));
    const Bytes packed = packAll(source, 1, columns);
    EXPECT_EQ(unpackedBits(GetParam(), packed, 0, columns), dequantizedBits(GetParam(), source, columns))
        << "bytes " << fill;
  }
}

TEST_P(QuantTest, RowsBeyondTheMatrixAreZeroBytes) {
  const uint64_t columns = blocks(3);
  // 17 rows: the second panel holds one, and 15 that are not of the matrix.
  Bytes source = randomBytes(17 * rowBytes(columns), 3);
  const Bytes packed = packAll(source, 17, columns);
  for (uint64_t row = 17; row < 32; ++row) {
    for (const uint32_t bits : unpackedBits(GetParam(), packed, row, columns)) EXPECT_EQ(bits & 0x7FFFFFFFU, 0U);
  }
  source.assign(source.size(), std::byte{0xFF});
  const Bytes ones = packAll(source, 17, columns);
  const PanelShape shape = *panelShape(GetParam(), columns);
  const auto isZero = [](std::byte byte) { return byte == std::byte{0}; };
  const auto zeros = std::count_if(ones.begin() + static_cast<int64_t>(shape.panelBytes), ones.end(), isZero);
  // One of 16 rows is used; of the rest every byte is zero. (0xFF codes of q8_0 are stored as 0x7F; the 12 bytes of the
  // 6-bit scales of a super-block become 16.)
  const uint64_t widened = GetParam() == DType::kQ4_K || GetParam() == DType::kQ5_K ? 4 * 3 : 0;
  EXPECT_EQ(static_cast<uint64_t>(zeros), shape.panelBytes - rowBytes(columns) - widened);
}

TEST_P(QuantTest, PacksARectangleInAnotherRowOrder) {
  constexpr uint64_t kColumns = 512;
  constexpr uint64_t kFirst = 96;  // inside a super-block, and the last column is inside the next one
  constexpr uint64_t kCount = 288;
  constexpr uint32_t kRows = 20;
  const Bytes source = randomBytes(kRows * rowBytes(kColumns), 9);
  std::vector<uint32_t> order{19, 0, 7, 7, 3, 18, 1, 2, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14};
  const PackSource rectangle{GetParam(), source, kColumns, kFirst, kCount};
  Bytes packed(*panelBytes(GetParam(), order.size(), kCount));
  ASSERT_TRUE(packPanels(rectangle, order, packed).isOk());
  for (uint64_t i = 0; i < order.size(); ++i) {
    const std::vector<uint32_t> whole = dequantizedBits(
        GetParam(), std::span(source).subspan(order[i] * rowBytes(kColumns), rowBytes(kColumns)), kColumns);
    EXPECT_EQ(unpackedBits(GetParam(), packed, i, kCount),
              std::vector<uint32_t>(whole.begin() + kFirst, whole.begin() + kFirst + kCount));
  }
}

TEST_P(QuantTest, RefusesSizesThatDoNotFit) {
  const uint64_t columns = blocks(2);
  const Bytes source = randomBytes(2 * rowBytes(columns), 1);
  Bytes out(*panelBytes(GetParam(), 2, columns));
  const std::vector<uint32_t> order = identity(2);
  const PackSource good{GetParam(), source, columns, 0, columns};
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
  bad.firstColumn = 16;
  bad.columnCount = 32;
  Bytes group(panelBytes(GetParam(), 2, 32).value());
  EXPECT_EQ(packPanels(bad, order, group).isOk(), !dtypeInfo(GetParam())->isQuantized);
  bad = good;
  bad.columns = 0;
  EXPECT_EQ(packPanels(bad, order, out).code(), Code::kInternal);
}

TEST_P(QuantTest, SizesAreCheckedForOverflow) {
  EXPECT_FALSE(panelShape(GetParam(), ~uint64_t{31}));
  EXPECT_FALSE(panelBytes(GetParam(), ~uint64_t{0}, 1U << 20));
  EXPECT_EQ(panelBytes(GetParam(), 0, 64), 0U);
  EXPECT_EQ(panelShape(GetParam(), 31).has_value(), !dtypeInfo(GetParam())->isQuantized);
  EXPECT_EQ(*panelBytes(GetParam(), 17, 64), 2 * panelShape(GetParam(), 64)->panelBytes);
  EXPECT_EQ(panelShape(GetParam(), 96)->panelBytes % 64, 0U);
}

INSTANTIATE_TEST_SUITE_P(Types, QuantTest, testing::ValuesIn(kTypes), typeName);

TEST(PanelTest, TypesWithoutPanelsHaveNoShape) {
  EXPECT_FALSE(panelShape(DType::kI32, 64));
  EXPECT_FALSE(panelBytes(DType::kI8, 16, 64));
}

// One q4_1 panel byte by byte, as the kernels of the cpu target read it.
TEST(PanelTest, Q41BytesAreWherePanelHSays) {
  constexpr uint64_t kColumns = 96;
  constexpr uint64_t kRowBytes = 60;
  const Bytes source = randomBytes(16 * kRowBytes, 21);
  Bytes packed(*panelBytes(DType::kQ4_1, 16, kColumns));
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

// Parts of a q6_k panel that starts inside a super-block.
TEST(PanelTest, Q6KBytesAreWherePanelHSays) {
  constexpr uint64_t kColumns = 512;
  constexpr uint64_t kRowBytes = 420;
  const Bytes source = randomBytes(16 * kRowBytes, 22);
  Bytes packed(*panelBytes(DType::kQ6_K, 16, 160));
  ASSERT_TRUE(packPanels({DType::kQ6_K, source, kColumns, 192, 160}, identity(16), packed).isOk());
  const PanelShape shape = *panelShape(DType::kQ6_K, 160);
  EXPECT_EQ(shape.scalesOffset, 1920U);
  EXPECT_EQ(shape.supersOffset, 2112U);  // 160 bytes of scales, padded to 192
  EXPECT_EQ(shape.panelBytes, 2240U);    // a line, and 2 super-blocks of 32 bytes
  EXPECT_EQ(packed[shape.supersOffset], std::byte{6});
  for (uint32_t r = 0; r < 16; ++r) {
    const std::byte* row = source.data() + r * kRowBytes;
    // Group 2 is the first of the second super-block.
    const std::byte* block = row + 210;
    EXPECT_EQ(packed[shape.scalesOffset + 2 * 32 + r], block[192]);
    EXPECT_EQ(packed[shape.scalesOffset + 2 * 32 + 16 + r], block[193]);
    EXPECT_EQ(std::memcmp(packed.data() + shape.supersOffset + 64 + 32 + 2 * r, block + 208, 2), 0);
    const std::byte* group = packed.data() + size_t{2} * 384;
    const auto low = [&](uint32_t k) { return block[k] & std::byte{15}; };
    const auto high = [&](uint32_t k) { return block[128 + k] & std::byte{3}; };
    EXPECT_EQ(group[64 + 4 * r + 1], low(5) | low(21) << 4);
    EXPECT_EQ(group[256 + 4 * r + 1], high(1) | high(5) << 2 | high(9) << 4 | high(13) << 6);
    EXPECT_EQ(group[320 + 4 * r + 1], high(17) | high(21) << 2 | high(25) << 4 | high(29) << 6);
  }
}

TEST(PanelTest, Q80CodesAreUnsigned) {
  Bytes source(34, std::byte{0});
  source[2] = std::byte{0x80};   // -128
  source[33] = std::byte{0x7F};  // 127
  Bytes packed(*panelBytes(DType::kQ8_0, 1, 32));
  ASSERT_TRUE(packPanels({DType::kQ8_0, source, 32, 0, 32}, identity(1), packed).isOk());
  EXPECT_EQ(packed[0], std::byte{0});             // k = 0
  EXPECT_EQ(packed[1], std::byte{128});           // k = 1
  EXPECT_EQ(packed[7 * 64 + 3], std::byte{255});  // k = 31
  EXPECT_EQ(packed[4], std::byte{0});             // row 1 is beyond the matrix
}

TEST(PanelTest, FloatPanelsAreColumnMajorInsideAPanel) {
  std::vector<uint16_t> values(16 * 3);
  std::iota(values.begin(), values.end(), uint16_t{0});
  Bytes packed(*panelBytes(DType::kF16, 16, 3));
  ASSERT_EQ(packed.size(), 128U);  // 96 bytes, padded
  ASSERT_TRUE(packPanels({DType::kF16, std::as_bytes(std::span(values)), 3, 0, 3}, identity(16), packed).isOk());
  uint16_t element = 0;
  std::memcpy(&element, packed.data() + (2 * 16 + 5) * 2, 2);
  EXPECT_EQ(element, values[5 * 3 + 2]);
}

/// A block of random bytes (scales aside), and its weights as gguf-py 0.19 dequantizes them (bits of fp32).
struct Recorded {
  DType type;
  std::vector<uint8_t> block;
  std::vector<uint32_t> weights;
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

    Recorded{DType::kQ5_0,
             {0x4c, 0x22, 0xe5, 0xf1, 0xa9, 0x41, 0x06, 0xa0, 0x95, 0x6a, 0x26,
              0xaf, 0xbc, 0xcd, 0xaf, 0xe5, 0x62, 0xf9, 0x0a, 0x94, 0x5f, 0x56},
             {0x3d972000, 0xbe498000, 0x3d7be000, 0xbd972000, 0xbdfbe000, 0x3e3ce800, 0x3e172000, 0x3e23b800,
              0x3e3ce800, 0xbe0a8800, 0xbe305000, 0xbdb05000, 0x3dfbe000, 0x3d498000, 0x3e3ce800, 0x3d972000,
              0x00000000, 0xbd972000, 0xbdb05000, 0x3d972000, 0xbe305000, 0x3dfbe000, 0xbd7be000, 0x3e172000,
              0x3dfbe000, 0xbcc98000, 0xbdfbe000, 0xbc498000, 0xbe498000, 0xbdb05000, 0x3d7be000, 0xbe0a8800}},
    Recorded{DType::kQ5_1,
             {0x4c, 0x22, 0xf6, 0xb4, 0xab, 0x2d, 0xa7, 0x39, 0x45, 0x51, 0x37, 0x0e,
              0x99, 0xb2, 0xd7, 0x4c, 0x34, 0x27, 0xfa, 0x48, 0xd7, 0x32, 0xa1, 0xdf},
             {0xbd542000, 0xbdced000, 0xbe655800, 0x3d714000, 0xbe4c2800, 0xbdb5a000, 0xbe655800, 0x3d0c8000,
              0xbd834000, 0xbe655800, 0x3c1f0000, 0xbc740000, 0xbe655800, 0xbdb5a000, 0xbe987400, 0xbe009800,
              0xbd834000, 0xbd542000, 0xbd9c7000, 0xbe9ec000, 0xbe4c2800, 0x3cb44000, 0xbe19c800, 0xbd834000,
              0xbd9c7000, 0xbe922800, 0xbe009800, 0xbd834000, 0x3d3ee000, 0xbd9c7000, 0xbe3f9000, 0xbe19c800}},
    Recorded{
        DType::kQ4_K,
        {0x0a, 0x15, 0x59, 0x1a, 0x26, 0x11, 0x59, 0x01, 0xdd, 0x06, 0xf2, 0x7f, 0x8f, 0x06, 0x3c, 0xd2, 0x5e, 0x19,
         0xa6, 0x21, 0xf9, 0xbd, 0x0c, 0xcc, 0x21, 0x39, 0x7c, 0x1e, 0xc7, 0x95, 0xca, 0x77, 0x48, 0xdc, 0x03, 0xd1,
         0x7a, 0x88, 0x93, 0x4d, 0x85, 0x52, 0x73, 0x57, 0xa2, 0xe6, 0x46, 0x47, 0xf0, 0x3e, 0x2f, 0xb8, 0x1f, 0x22,
         0x3f, 0x41, 0x92, 0xc5, 0x8e, 0xfd, 0x51, 0x85, 0xf0, 0x71, 0x1e, 0xf7, 0x67, 0x7a, 0x1f, 0x13, 0x2a, 0x81,
         0x8d, 0x88, 0x21, 0x95, 0xa1, 0x00, 0xb2, 0x8d, 0x6b, 0x23, 0x6b, 0x82, 0x48, 0x1b, 0xd9, 0xfe, 0x63, 0x0d,
         0xc3, 0xce, 0x3b, 0xe4, 0xeb, 0xca, 0xb7, 0x2f, 0x45, 0xb3, 0x52, 0x23, 0x47, 0x9f, 0x6e, 0x79, 0x4d, 0x57,
         0x03, 0x7e, 0x2c, 0xfd, 0xe9, 0xe1, 0x5a, 0x77, 0x89, 0x78, 0x1e, 0x37, 0x21, 0xa5, 0x57, 0xd8, 0xe5, 0xa7,
         0x03, 0x29, 0x6d, 0xcb, 0x81, 0xdb, 0x3f, 0x65, 0xcf, 0x9c, 0x1b, 0xdc, 0x5d, 0x1d, 0x8f, 0xc8, 0x3f, 0x0b},
        {0x3f1089e0, 0x3ea96640, 0x3e432f80, 0xbd30ae00, 0x3ea96640, 0x3f049220, 0x3ef134c0, 0x3ef134c0, 0xbd30ae00,
         0x3ea96640, 0x3ef134c0, 0x3f1089e0, 0x3e730e80, 0x3e135080, 0x3ec155c0, 0x3e730e80, 0x3e9176c0, 0x3ef134c0,
         0x3d4e4a00, 0xbd30ae00, 0x3ec155c0, 0x3e9176c0, 0x3d4e4a00, 0x3f049220, 0x3e135080, 0x3b6ce000, 0x3d4e4a00,
         0x3e730e80, 0x3b6ce000, 0x3e432f80, 0x3e432f80, 0x3e730e80, 0x3db01300, 0x3b17e000, 0x3e431e00, 0x3cbe5000,
         0x3e971940, 0x3e588880, 0xbc985800, 0x3e6df300, 0x3cbe5000, 0x3d34d200, 0x3e02de80, 0x3b17e000, 0x3e6df300,
         0x3e2db380, 0x3e6df300, 0x3e02de80, 0x3d853e00, 0x3e81aec0, 0xbc985800, 0x3e81aec0, 0x3e02de80, 0x3e184900,
         0x3e2db380, 0x3d853e00, 0x3e184900, 0x3db01300, 0x3e02de80, 0x3db01300, 0x3e431e00, 0x3e8c6400, 0x3d853e00,
         0x3d853e00, 0xbe1eb100, 0x3e8d1d00, 0x3e9cdc40, 0x3dba8600, 0x3e9cdc40, 0xbdbf6800, 0x3e9cdc40, 0xbdfe6500,
         0xbdbf6800, 0xba9c4000, 0x3e8d1d00, 0x3e7abb80, 0xbdfe6500, 0xba9c4000, 0xbe1eb100, 0xbdfe6500, 0x3e8d1d00,
         0x3d771200, 0x3d771200, 0x3e1c4000, 0x3e9cdc40, 0xbd806b00, 0x3e1c4000, 0xbdfe6500, 0x3e7abb80, 0x3dba8600,
         0xbdfe6500, 0xba9c4000, 0xbdfe6500, 0xbe1eb100, 0xbdbf6800, 0x3e7abb80, 0xbe350e00, 0xbe442c00, 0xbe456e80,
         0xbe3a1800, 0xbe46b100, 0xbe456e80, 0xbe442c00, 0xbe42e980, 0xbe3c9d00, 0xbe38d580, 0xbe3ddf80, 0xbe350e00,
         0xbe41a700, 0xbe3ddf80, 0xbe350e00, 0xbe3f2200, 0xbe46b100, 0xbe350e00, 0xbe406480, 0xbe3f2200, 0xbe46b100,
         0xbe46b100, 0xbe456e80, 0xbe3ddf80, 0xbe3ddf80, 0xbe3ddf80, 0xbe456e80, 0xbe3c9d00, 0xbe3b5a80, 0xbe47f380,
         0xbe3a1800, 0xbe3ddf80, 0x3cf10400, 0xbdf21700, 0x3cf10400, 0xbe0bf100, 0xbcd48000, 0x3cf10400, 0xbbf55000,
         0x3dada200, 0xbdf21700, 0x3d87d700, 0xbdf21700, 0x3dada200, 0x3cf10400, 0xbdcc4c00, 0x3cf10400, 0x3c33b000,
         0xbd35d600, 0x3dd36d00, 0xbda68100, 0xbdf21700, 0xbe0bf100, 0xbdf21700, 0xbd35d600, 0x3dd36d00, 0x3dada200,
         0xbbf55000, 0x3d87d700, 0xbd35d600, 0xbdf21700, 0x3dada200, 0x3d441800, 0x3d87d700, 0x3d356800, 0x3c71e000,
         0x3d356800, 0x3d71e000, 0x3cf1e000, 0x3bf1e000, 0x3dc48600, 0x3de2c200, 0x3d356800, 0x00000000, 0x3db56800,
         0x3db56800, 0x3cb56800, 0x3dd3a400, 0x3dd3a400, 0x3db56800, 0x3da64a00, 0x3c71e000, 0x3cf1e000, 0x3da64a00,
         0x3d172c00, 0x3c71e000, 0x3cf1e000, 0x3d880e00, 0x3d356800, 0x3d53a400, 0x3cf1e000, 0x3d172c00, 0x00000000,
         0x3d53a400, 0x3c71e000, 0x3de2c200, 0x3e1b9880, 0xbdfd2f00, 0x3e3ede80, 0x3daa1900, 0x3e1b9880, 0x3df0a500,
         0x3ea5fb40, 0x3daa1900, 0xbdfd2f00, 0x3c680800, 0x3daa1900, 0x3df0a500, 0x3c680800, 0x3daa1900, 0xbd602e00,
         0x3e1b9880, 0x3e945840, 0x3e622480, 0xbdfd2f00, 0x3e622480, 0x3eb79e40, 0x3c680800, 0x3eb79e40, 0x3e82b540,
         0x3e622480, 0x3e82b540, 0x3e945840, 0x3e945840, 0x3eb79e40, 0x3df0a500, 0x3eb79e40, 0x3e622480, 0xbd631200,
         0xbd631200, 0xbd9ee300, 0xbd94cf00, 0xbd8fc500, 0xbd94cf00, 0xbdb30b00, 0xbda8f700, 0xbdae0100, 0xbd85b100,
         0xbd9ee300, 0xbd6d2600, 0xbd631200, 0xbd85b100, 0xbdb81500, 0xbdae0100, 0xbd99d900, 0xbd773a00, 0xbd8fc500,
         0xbd6d2600, 0xbda8f700, 0xbd99d900, 0xbd773a00, 0xbd8abb00, 0xbdb30b00, 0xbd6d2600, 0xbd9ee300, 0xbdb30b00,
         0xbd8fc500, 0xbd773a00, 0xbda8f700, 0xbdb81500}},
    Recorded{
        DType::kQ5_K,
        {0x0a, 0x15, 0x59, 0x1a, 0xbe, 0x57, 0x22, 0x09, 0x85, 0x1d, 0x3d, 0x24, 0xf4, 0xc0, 0xcf, 0x83, 0xfe, 0x43,
         0x63, 0xf8, 0x2f, 0x47, 0x59, 0x77, 0x89, 0x55, 0xf6, 0xce, 0xd6, 0x81, 0xcb, 0xea, 0x71, 0x79, 0xce, 0xd2,
         0xc8, 0xf8, 0x14, 0xa1, 0x34, 0x72, 0xff, 0x70, 0xce, 0x36, 0x9d, 0x83, 0x85, 0x45, 0x2a, 0x44, 0xf3, 0x18,
         0x33, 0x7f, 0x08, 0xcd, 0x1e, 0x61, 0x4f, 0x23, 0x5d, 0x3f, 0x83, 0xbc, 0x45, 0xfe, 0xe9, 0xee, 0x04, 0x03,
         0xa7, 0x9b, 0xe1, 0x18, 0x54, 0x44, 0x41, 0x31, 0x7c, 0x93, 0x11, 0xf8, 0x5e, 0x04, 0x29, 0xb1, 0x9f, 0x7e,
         0xc0, 0xe1, 0x56, 0xf6, 0x5a, 0x33, 0x22, 0xe7, 0x91, 0xb8, 0x80, 0xee, 0x99, 0x5e, 0x3f, 0x0d, 0x30, 0x7d,
         0x2f, 0xba, 0xf4, 0x00, 0x69, 0x3a, 0x17, 0x9e, 0x0d, 0x02, 0x7e, 0xd4, 0xe5, 0x8b, 0xe7, 0xa9, 0xeb, 0xc2,
         0x8a, 0x27, 0x1d, 0x43, 0xa7, 0x88, 0x55, 0x63, 0x81, 0x44, 0xeb, 0x66, 0x03, 0xf7, 0xb2, 0x72, 0x5d, 0xe1,
         0x1f, 0xe6, 0xac, 0x2f, 0x88, 0xa6, 0x81, 0x82, 0x86, 0x97, 0x93, 0xf0, 0xaa, 0xd6, 0xde, 0xd8, 0x11, 0x6e,
         0x3a, 0xb5, 0x16, 0x81, 0xc4, 0xa3, 0x74, 0xfe, 0xc7, 0x0a, 0x68, 0xb3, 0xe4, 0xbd},
        {0x3ebb5440, 0x3fcb0b10, 0x3ffbdbf0, 0x3e9446c0, 0x3fb78450, 0x3fe85530, 0x3fb78450, 0x40165668, 0x3fe85530,
         0x400c9308, 0x3f86b370, 0x3d78f200, 0x3f9076d0, 0x3fb78450, 0x400c9308, 0x3f9076d0, 0x3fb78450, 0x4007b158,
         0x3ebb5440, 0x3f86b370, 0x3f2bc520, 0x3f86b370, 0x3e9446c0, 0x3fb78450, 0x3f04b7a0, 0x3f52d2a0, 0x3fa3fd90,
         0x3f183e60, 0x3e9446c0, 0x3e9446c0, 0x3fa3fd90, 0x3fa3fd90, 0x3f16d660, 0x3ef3b9c0, 0x3ed6c040, 0x3cbedc00,
         0x3f498b00, 0x3ec84380, 0xbba3c000, 0x3f0f9800, 0xbdb81500, 0x3e7fa780, 0x3ec84380, 0x3f0859a0, 0x3ef3b9c0,
         0xbd085e00, 0x3f011b40, 0x3ee53d00, 0x3e0bc180, 0x3e62ae00, 0x3ef3b9c0, 0x3f498b00, 0x3e9ccd40, 0x3e9ccd40,
         0xbdb81500, 0xbdb81500, 0x3e45b480, 0x3f1e14c0, 0x3f424ca0, 0xbd7c4400, 0x3f011b40, 0x3ef3b9c0, 0x3cbedc00,
         0x3ee53d00, 0x3f7b6c60, 0xbd823700, 0xbe16c580, 0x3e150d80, 0x3f886b70, 0x3f25c260, 0x3e3fe280, 0x3f05a2a0,
         0x3ee07040, 0x3f886b70, 0x3ef5dac0, 0x3f05a2a0, 0x3f3b2ce0, 0x3d7d8e00, 0x3e6ab780, 0xbd823700, 0xbdd7e100,
         0x3dd47100, 0x3f05a2a0, 0x3e150d80, 0xbe419a80, 0x3ecb05c0, 0x3f5b4ca0, 0x3ecb05c0, 0x3f8dc610, 0x3eb59b40,
         0x3ef5dac0, 0x3eb59b40, 0x3f8dc610, 0x3f6601e0, 0x3f25c260, 0xbe419a80, 0x3e128380, 0xbc437800, 0xbdcdd700,
         0x3e6d3780, 0x3df7ad00, 0xbde48400, 0x3db3a600, 0x3c275800, 0x3e293080, 0xbd0b9200, 0x3cae6000, 0x3e61e100,
         0xbd664600, 0x3d5f3e00, 0x3df7ad00, 0x3dca5300, 0xbdb72a00, 0x3e61e100, 0x3e293080, 0x3c275800, 0x3e1dda00,
         0x3e61e100, 0xbc437800, 0xbd664600, 0xbda07d00, 0xbde48400, 0x3dca5300, 0xbd0b9200, 0x3db3a600, 0x3c275800,
         0x3e6d3780, 0xbde48400, 0x3f7627a0, 0x3e982c40, 0x3e284a80, 0x3f976c10, 0x3edc3340, 0xbd69de00, 0x3f976c10,
         0x3f3d7720, 0x3d9b2d00, 0x3f866a50, 0x3f5f7aa0, 0x3e817f40, 0x3f866a50, 0xbd69de00, 0x3e982c40, 0x3e284a80,
         0x3f91c0d0, 0x3f3220a0, 0x3e284a80, 0x3f6ad120, 0x3d9b2d00, 0x3f3220a0, 0x3f1b73a0, 0x3d00f200, 0x3f866a50,
         0x3f542420, 0x3f3220a0, 0x3f5f7aa0, 0xbd69de00, 0x3f26ca20, 0x3f91c0d0, 0xbdcfa300, 0x3ecaad00, 0x3cb31000,
         0x3e984900, 0x3ee8e900, 0x3e8e3500, 0xbd185800, 0x3dce0400, 0x3f089c80, 0x3e741a00, 0x3df65400, 0x3f0da680,
         0x3e237a00, 0x3e741a00, 0x3e4bca00, 0x3df65400, 0x3ea25d00, 0x3e984900, 0x3eb68500, 0x3e237a00, 0x3df65400,
         0x3d7ac800, 0x3ecaad00, 0x3df65400, 0x3eb68500, 0x3f0da680, 0x3ecaad00, 0x3e8e3500, 0x3f12b080, 0x3e37a200,
         0x3ed4c100, 0x3d7ac800, 0x3e741a00, 0x3f08ed20, 0x3ebcd180, 0x3ef58200, 0x3f08ed20, 0x3de22c00, 0x3ebcd180,
         0x3e8d93c0, 0x3e970680, 0x3d969600, 0x3ec64440, 0x3ea07940, 0x3e842100, 0x3ee29c80, 0x3d969600, 0x3f0433c0,
         0x3ecfb700, 0x3e8d93c0, 0x3f0433c0, 0x3ee29c80, 0x3eb35ec0, 0x3ebcd180, 0x3e8d93c0, 0x3d160000, 0x3c94d400,
         0x3d160000, 0x3f0433c0, 0x3ec64440, 0x3ee29c80, 0x3ecfb700, 0x3c94d400, 0x3d160000, 0x3e4f9180, 0x3d1b6e00,
         0x3cdc2800, 0x3c467000, 0x3d2a8c00, 0x3b9b0000, 0x3c467000, 0x3b9b0000, 0x3b9b0000, 0x3d82a000, 0x3c09f800,
         0x3d8a2f00, 0x3db78900, 0x3d91be00, 0x3da86b00, 0x3da86b00, 0x3da86b00, 0xbcace400, 0xbb2dc000, 0x3d39aa00,
         0x3d994d00, 0x3d1b6e00, 0x3d82a000, 0x3c9fb000, 0x3d91be00, 0x3a884000, 0x3cfa6400, 0x3da0dc00, 0xbccb2000,
         0x3d670400, 0x3c817400, 0x3daffa00, 0x3d994d00}},
    Recorded{
        DType::kQ6_K,
        {0xc9, 0x2b, 0x38, 0x79, 0x87, 0x41, 0x6c, 0x17, 0xec, 0x90, 0x96, 0x3e, 0xc7, 0x66, 0x88, 0x8a, 0xb4, 0xb8,
         0x0e, 0xba, 0x7c, 0x5c, 0xfd, 0x81, 0x12, 0x1b, 0xea, 0x9c, 0xee, 0x18, 0x10, 0xdf, 0xd5, 0x16, 0x9f, 0xaf,
         0x26, 0xcd, 0x7b, 0x5c, 0x30, 0xc8, 0xab, 0xa4, 0x4d, 0x97, 0x22, 0x99, 0xe8, 0xc7, 0xb4, 0x1b, 0x9a, 0x1d,
         0x2b, 0x0f, 0x18, 0x06, 0x00, 0xa9, 0x74, 0xd6, 0x3b, 0x63, 0x32, 0x20, 0x2c, 0x99, 0x8e, 0x82, 0xb2, 0x52,
         0x2c, 0x49, 0xc4, 0x39, 0x4c, 0x7d, 0x73, 0x26, 0x5b, 0x6a, 0xaf, 0x61, 0xb2, 0x88, 0xfb, 0xd0, 0xae, 0xcf,
         0xa7, 0x66, 0x61, 0x62, 0x23, 0x61, 0x1e, 0x76, 0x4c, 0x93, 0xaa, 0x38, 0x8f, 0xfa, 0xbd, 0x0a, 0x6a, 0x64,
         0x12, 0xb2, 0x09, 0x97, 0x1e, 0x2d, 0x82, 0x70, 0x76, 0xf7, 0xe4, 0x9a, 0xb8, 0xfa, 0x19, 0x72, 0x71, 0xbe,
         0x53, 0xa3, 0x44, 0x2b, 0x12, 0x8c, 0xda, 0xd7, 0x2b, 0xad, 0x0f, 0x8a, 0xee, 0xf4, 0x2a, 0x0b, 0x9a, 0x26,
         0xd7, 0x4f, 0xc7, 0x8f, 0x25, 0x62, 0xb8, 0x70, 0x10, 0x97, 0xa5, 0x5b, 0x55, 0x10, 0x54, 0x3d, 0x27, 0xed,
         0x60, 0x0d, 0xe3, 0x20, 0x0a, 0x67, 0x49, 0x30, 0x7f, 0xd3, 0x78, 0x99, 0xc1, 0x18, 0x81, 0x9a, 0xf6, 0x67,
         0x43, 0x94, 0xc3, 0xf7, 0xaa, 0x5f, 0x93, 0xf3, 0x2c, 0x81, 0x0a, 0x37, 0xca, 0x7b, 0xf1, 0x01, 0x3c, 0xcd,
         0xf8, 0xab, 0x8a, 0xb4, 0xa6, 0x03, 0x99, 0x54, 0xe8, 0x4c, 0x0a, 0x15},
        {0x3fc39420, 0xbfe597a0, 0xbf080e00, 0x3fc39420, 0xbeee1880, 0xbf908ee0, 0xbfee1880, 0x3f190fc0, 0xbfee1880,
         0x80000000, 0xbecc1500, 0x3f990fc0, 0xbeee1880, 0xbfbb1340, 0xbf080e00, 0xbf2a1180, 0x4041b060, 0x40686d40,
         0x40914448, 0x407bcbb0, 0xbf1af380, 0x3fe86d40, 0xc0380128, 0xc0961be4, 0xc0914448, 0x4082bd74, 0xbf686d40,
         0x40879510, 0xbe9af380, 0xc0686d40, 0xc09af380, 0xbe1af380, 0x3e4fdc80, 0xbde2c200, 0x3ea09ec0, 0xbf1272a0,
         0xbde2c200, 0x3d62c200, 0xbe4fdc80, 0xbf044680, 0xbe972c00, 0xbe172c00, 0xbeff1a40, 0x3e62c200, 0xbe75a780,
         0xbe044680, 0xbd172c00, 0x3e044680, 0xbc214000, 0x3ce7cc00, 0xbc71e000, 0x3d080e00, 0xbbf1e000, 0xbcbf7c00,
         0x3c5db800, 0xbcab5400, 0xbcf1e000, 0xbc499000, 0xbca14000, 0x3c356800, 0xbc71e000, 0xbd030400, 0xbbc99000,
         0x3cbf7c00, 0xbfbcf700, 0x3e172c00, 0xbf75a780, 0xbfec34c0, 0xbf172c00, 0xbf62c200, 0x3ee2c200, 0x3d972c00,
         0xbfaa1180, 0xbfd94f40, 0x3f2a1180, 0x3fb38440, 0x3f62c200, 0xbff5a780, 0xbf172c00, 0x3f172c00, 0x3ea09ec0,
         0x3fa8a6b0, 0x40007f00, 0x3fa8a6b0, 0xbee0de40, 0xbea09ec0, 0xbff8f610, 0xbfc0be80, 0x3f70ee20, 0x3f70ee20,
         0xbf60de40, 0x3ee0de40, 0x3e007f00, 0x3f70ee20, 0x3f70ee20, 0xbfe8e630, 0x3cf1e000, 0x3e9c3600, 0x3e67cc00,
         0xbdc99000, 0xbe356800, 0xbe8d1800, 0x3e7bf400, 0xbd499000, 0x3e922200, 0xbdf1e000, 0xbe830400, 0xbe830400,
         0x3e8d1800, 0x3e67cc00, 0xbca14000, 0x3e67cc00, 0xc048c670, 0x3ed62900, 0xc034b298, 0xbdd62900, 0x4019ed78,
         0x3fc8c670, 0xbe562900, 0x3fd62900, 0x404f77b8, 0x80000000, 0x80000000, 0x3f209ec0, 0x3f70ee20, 0x3ffe50b0,
         0x3fae0150, 0x402e0150, 0xc0273be0, 0x4014a700, 0x4039d0c0, 0x3f821220, 0xc08b5c90, 0x408b5c90, 0xbe94a700,
         0xc0273be0, 0x3f14a700, 0x4055b010, 0xc039d0c0, 0xc06844f0, 0x4039d0c0, 0x3edefa80, 0x3ff18f60, 0x40718f60,
         0x3eef5b00, 0xbf6f5b00, 0xbfb38440, 0xbfcb73c0, 0xbfd76b80, 0x400f9d00, 0xc02190a0, 0xbfbf7c00, 0xbfa78c80,
         0xc0398020, 0xc009a120, 0xc003a540, 0x40398020, 0x3fa78c80, 0xbe8f9d00, 0xbfcb73c0, 0x3e62c200, 0xc01be560,
         0x400db940, 0xc006a330, 0x401be560, 0x402a1180, 0xbfd495e0, 0x3f2a1180, 0xbfb83da0, 0x401be560, 0xc0383da0,
         0x404669c0, 0xbe62c200, 0xbe62c200, 0x4022fb70, 0xbf4669c0, 0xbd880e00, 0x3d448600, 0xbd53a400, 0xbd71e000,
         0xbdc48600, 0xbd080e00, 0xbdd3a400, 0xbcb56800, 0x3cf1e000, 0x3dc48600, 0xbdadd900, 0xbde2c200, 0x3d807f00,
         0xbd880e00, 0x3c356800, 0xbd448600, 0xbec2a240, 0xbe81c180, 0xbe81c180, 0x403a8628, 0xbf81c180, 0xbf81c180,
         0x402a4df8, 0xbf2231e0, 0x40734ad0, 0xc02231e0, 0xc06312a0, 0x3fd2da70, 0xc02231e0, 0x3f91f9b0, 0x404abe58,
         0x3fe312a0, 0xc0329260, 0xbf844680, 0x402bf540, 0x3f1ebb00, 0xc00ae3a0, 0xbf53a400, 0xbfe0de40, 0x403fcca0,
         0x3f844680, 0xbed3a400, 0xbf1ebb00, 0x401180c0, 0x3f1ebb00, 0xc02bf540, 0xc04669c0, 0x401180c0, 0x3f6a5100,
         0xbf2dd900, 0x3eb56800, 0x3f2dd900, 0xbf448600, 0x3f5b3300, 0x3f356800, 0x3cf1e000, 0x3e172c00, 0x3f71e000,
         0x3e972c00, 0xbf264a00, 0x3ee2c200, 0xbea64a00, 0xbef1e000, 0x3f2dd900, 0x3dbf7c00, 0x3e3f7c00, 0x400f9d00,
         0xbf576b80, 0xbf576b80, 0x3fb38440, 0x40338440, 0x401598e0, 0x3f83a540, 0xbdbf7c00, 0x3dbf7c00, 0x4009a120,
         0xc01598e0, 0x3f83a540, 0xc02190a0, 0xc003a540}},
};

TEST(DequantizeTest, AgreesWithGgufPy) {
  for (const Recorded& recorded : kRecorded) {
    EXPECT_EQ(dequantizedBits(recorded.type, std::as_bytes(std::span(recorded.block)), recorded.weights.size()),
              recorded.weights)
        << dtypeInfo(recorded.type)->name;
  }
}

}  // namespace
}  // namespace firn::quant
