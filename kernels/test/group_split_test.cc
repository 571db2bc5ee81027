// Planes of codes, scales and mins: the weights they stand for are those of dequantizeRow, bit for bit, and a block
// written by hand lies where group_split.h says.
#include "kernels/quant/group_split.h"

#include <gtest/gtest.h>

#include <array>

#include "kernels/test/quant_test_data.h"

namespace firn::quant {
namespace {

constexpr std::array kTypes{DType::kF32,  DType::kF16,  DType::kBf16, DType::kI32,  DType::kI8,
                            DType::kU8,   DType::kQ4_0, DType::kQ4_1, DType::kQ8_0, DType::kQ5_0,
                            DType::kQ5_1, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

struct Planes {
  Bytes codes;
  std::vector<uint16_t> scales;
  std::vector<uint16_t> mins;
};

std::span<std::byte> bytesOf(std::vector<uint16_t>& halves) { return std::as_writable_bytes(std::span(halves)); }

Planes split(DType type, std::span<const std::byte> row, uint64_t columns) {
  const GroupFormat format = *groupFormat(type);
  const uint64_t groups = columns / format.groupElements;
  Planes planes{Bytes(format.codeBytes(columns), std::byte{0xEE}), std::vector<uint16_t>(groups, 0xEEEE),
                std::vector<uint16_t>(format.hasMins ? groups : 0, 0xEEEE)};
  splitRow(type, row, columns, {planes.codes, bytesOf(planes.scales), bytesOf(planes.mins)});
  return planes;
}

/// The number that a code is, by the contract of npu.matmul_groups.
int codeAt(const GroupFormat& format, const Bytes& codes, uint64_t k) {
  if (format.bits == 4) return static_cast<int>(codes[k / 2]) >> (k % 2 * 4) & 15;
  if (format.zero != 0) return static_cast<int>(codes[k]);
  return static_cast<int8_t>(codes[k]);
}

std::vector<float> valuesOf(DType type, const Planes& planes, uint64_t columns) {
  const GroupFormat format = *groupFormat(type);
  std::vector<float> values;
  for (uint64_t k = 0; k < columns; ++k) {
    const uint64_t g = k / format.groupElements;
    const int code = codeAt(format, planes.codes, k) - static_cast<int>(format.zero);
    const float product = f16ToF32(planes.scales[g]) * static_cast<float>(code);
    values.push_back(format.hasMins ? product + f16ToF32(planes.mins[g]) : product);
  }
  return values;
}

TEST(GroupSplitTest, TheSimpleGroupFormatsHavePlanes) {
  struct Row {
    DType type;
    uint32_t bits;
    uint32_t zero;
    bool hasMins;
  };
  constexpr std::array kRows{Row{DType::kQ4_0, 4, 8, false}, Row{DType::kQ4_1, 4, 0, true},
                             Row{DType::kQ5_0, 8, 0, false}, Row{DType::kQ5_1, 8, 0, true},
                             Row{DType::kQ8_0, 8, 0, false}};
  size_t found = 0;
  for (const DType type : kTypes) found += groupFormat(type).has_value();
  EXPECT_EQ(found, kRows.size());
  for (const Row& row : kRows) {
    const std::optional<GroupFormat> format = groupFormat(row.type);
    ASSERT_TRUE(format);
    EXPECT_EQ(format->bits, row.bits);
    EXPECT_EQ(format->zero, row.zero);
    EXPECT_EQ(format->hasMins, row.hasMins);
    EXPECT_EQ(format->groupElements, dtypeInfo(row.type)->blockElements);
  }
}

TEST(GroupSplitTest, ValuesAreThoseOfTheSource) {
  // Random bytes hold NaN, infinite and subnormal scales too; the other rows give zeros of both signs.
  for (const DType type : kTypes) {
    if (!groupFormat(type)) continue;
    for (const uint64_t columns : {32U, 64U, 2048U, 16384U}) {
      const uint64_t rowBytes = *dtypeBytes(type, columns);
      for (const Bytes& row : {randomBytes(rowBytes, static_cast<uint32_t>(columns)), Bytes(rowBytes, std::byte{0x80}),
                               Bytes(rowBytes, std::byte{0x00})}) {
        const Planes planes = split(type, row, columns);
        ASSERT_EQ(bitsOf(type, valuesOf(type, planes, columns)), dequantizedBits(type, row, columns))
            << dtypeInfo(type)->name << " " << columns;
      }
    }
  }
}

TEST(GroupSplitTest, NibblesStandInTheOrderOfColumns) {
  // Low nibbles are weights 0 .. 15: codes 0 .. 15; high ones 16 .. 31: codes 15 .. 0.
  Bytes block{std::byte{0x34}, std::byte{0x12}};
  for (uint32_t i = 0; i < 16; ++i) block.push_back(static_cast<std::byte>(i | (15 - i) << 4));
  const Planes planes = split(DType::kQ4_0, block, 32);
  Bytes expected;
  for (uint32_t j = 0; j < 8; ++j) expected.push_back(static_cast<std::byte>(2 * j | (2 * j + 1) << 4));
  for (uint32_t j = 0; j < 8; ++j) expected.push_back(static_cast<std::byte>((15 - 2 * j) | (14 - 2 * j) << 4));
  EXPECT_EQ(planes.codes, expected);
  EXPECT_EQ(planes.scales, std::vector<uint16_t>{0x1234});
}

TEST(GroupSplitTest, AnEmptyPlaneIsLeftOut) {
  const Bytes row = randomBytes(*dtypeBytes(DType::kQ5_1, 96), 1);
  const Planes whole = split(DType::kQ5_1, row, 96);
  Bytes codes(96);
  splitRow(DType::kQ5_1, row, 96, {codes, {}, {}});
  EXPECT_EQ(codes, whole.codes);
  std::vector<uint16_t> plane(3);
  splitRow(DType::kQ5_1, row, 96, {{}, bytesOf(plane), {}});
  EXPECT_EQ(plane, whole.scales);
  splitRow(DType::kQ5_1, row, 96, {{}, {}, bytesOf(plane)});
  EXPECT_EQ(plane, whole.mins);
}

}  // namespace
}  // namespace firn::quant
