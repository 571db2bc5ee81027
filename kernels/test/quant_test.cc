// Weight formats: dequantization against independently written values, and packing to panels, which must lose nothing.
// Recorded values are in dequantize_recorded_test.cc, the bytes of panels in panel_bytes_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "blob/extent.h"
#include "kernels/test/quant_test_data.h"

namespace firn::quant {
namespace {

constexpr std::array kTypes{DType::kF32,  DType::kF16,  DType::kBf16, DType::kQ4_0, DType::kQ4_1, DType::kQ8_0,
                            DType::kQ5_0, DType::kQ5_1, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

std::string typeName(const testing::TestParamInfo<DType>& info) { return std::string(dtypeInfo(info.param)->name); }

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

}  // namespace
}  // namespace firn::quant
