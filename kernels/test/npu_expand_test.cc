// npu.expand and npu.embed against kernels/quant and the f16 of base/dtype.h, over all weight types.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/npu/embed.h"
#include "kernels/quant/panel.h"
#include "kernels/test/npu_test_data.h"

namespace firn::npu::test {
namespace {

constexpr DType kTypes[] = {DType::kF32,  DType::kF16,  DType::kBf16, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0,
                            DType::kQ5_1, DType::kQ8_0, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

/// Rows that start one byte off any alignment, with a byte between them.
struct RawRows {
  RawRows(DType weightType, uint64_t rowCount, uint64_t rowColumns)
      : type(weightType),
        rows(rowCount),
        columns(rowColumns),
        rowBytes(*dtypeBytes(weightType, rowColumns)),
        bytes(1 + rowCount * (rowBytes + 1)) {}
  RawView view() const { return {type, bytes.data() + 1, rows, columns, rowBytes + 1}; }
  std::byte* row(uint64_t i) { return bytes.data() + 1 + i * (rowBytes + 1); }
  void fill(Random& random) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  }
  std::vector<float> values(uint64_t i) {
    std::vector<float> out(columns);
    quant::dequantizeRow(type, {row(i), rowBytes}, out);
    return out;
  }

  DType type;
  uint64_t rows;
  uint64_t columns;
  uint64_t rowBytes;
  std::vector<std::byte> bytes;
};

uint16_t saturated(float value) {
  return std::isfinite(value) ? f32ToF16(std::clamp(value, -65504.0F, 65504.0F)) : f32ToF16(value);
}

void expectExpanded(RawRows& raw) {
  for (const InstructionSet isa : supportedSets()) {
    const uint64_t stride = raw.columns + 3;
    std::vector<uint16_t> out(raw.rows * stride, 0x1234);
    kernelsOf(isa).expand({.in = raw.view(), .out = {out.data(), raw.rows, raw.columns, stride}});
    for (uint64_t i = 0; i < raw.rows; ++i) {
      const std::vector<float> values = raw.values(i);
      for (uint64_t k = 0; k < stride; ++k) {
        const uint16_t found = out[i * stride + k];
        const uint16_t expected = k < raw.columns ? saturated(values[k]) : 0x1234;
        ASSERT_TRUE(isSameHalf(found, expected)) << dtypeInfo(raw.type)->name << " " << cpu::instructionSetName(isa)
                                                 << " " << i << " " << k << ": " << found << ", expected " << expected;
      }
    }
  }
}

TEST(NpuExpandTest, AnyBytesOfAnyType) {
  Random random(1);
  for (const DType type : kTypes) {
    const uint64_t block = dtypeInfo(type)->blockElements;
    for (const uint64_t blocks : {1, 2, 19}) {
      RawRows raw(type, 40, block * blocks);
      raw.fill(random);
      expectExpanded(raw);
    }
  }
}

/// Halves at both ends of a block, where a format may have its scales.
void putScales(RawRows& raw, float scale, float min) {
  const auto put = [&](std::byte* at, float value) {
    const uint16_t half = f32ToF16(value);
    std::memcpy(at, &half, sizeof half);
  };
  const uint32_t blockBytes = dtypeInfo(raw.type)->blockBytes;
  const bool hasMin = raw.type != DType::kQ4_0 && raw.type != DType::kQ5_0 && raw.type != DType::kQ8_0;
  for (uint64_t i = 0; i < raw.rows; ++i) {
    for (uint64_t at = 0; at < raw.rowBytes; at += blockBytes) {
      put(raw.row(i) + at + (raw.type == DType::kQ6_K ? blockBytes - 2 : 0), scale);
      if (hasMin && raw.type != DType::kQ6_K) put(raw.row(i) + at + 2, min);
    }
  }
}

TEST(NpuExpandTest, WeightsAroundTheLargestHalf) {
  Random random(2);
  for (const DType type : kTypes) {
    if (!dtypeInfo(type)->isQuantized) continue;
    for (const float scale : {1.0F, 33.0F, 100.0F, 1000.0F, -4400.0F, 65504.0F, 0x1p-24F, -0.0F}) {
      for (const float min : {0.0F, -100.0F, 60000.0F}) {
        RawRows raw(type, 2, dtypeInfo(type)->blockElements * 2);
        raw.fill(random);
        putScales(raw, scale, min);
        expectExpanded(raw);
      }
    }
  }
}

TEST(NpuExpandTest, FiniteStaysFiniteAndInfiniteInfinite) {
  RawRows raw(DType::kF32, 1, 7);
  const float values[] = {65519.9F, 65520, 1e30F, -3.4e38F, kInf, -kInf, kNan};
  std::memcpy(raw.row(0), values, sizeof values);
  for (const InstructionSet isa : supportedSets()) {
    std::vector<uint16_t> out(7);
    kernelsOf(isa).expand({.in = raw.view(), .out = {out.data(), 1, 7, 7}});
    EXPECT_EQ(std::vector<uint16_t>(out.begin(), out.begin() + 6),
              (std::vector<uint16_t>{0x7BFF, 0x7BFF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00}));
    EXPECT_TRUE(std::isnan(f16ToF32(out[6])));
  }
}

/// All bits of f16, so also that halves are read and written as base/dtype.h says, payloads of NaN included.
TEST(NpuExpandTest, AllHalvesKeepTheirBits) {
  for (const DType type : {DType::kF16, DType::kBf16}) {
    RawRows raw(type, 1, 65536);
    for (uint32_t i = 0; i < 65536; ++i) {
      const auto number = static_cast<uint16_t>(i);
      std::memcpy(raw.row(0) + 2 * i, &number, sizeof number);
    }
    expectExpanded(raw);
    for (const InstructionSet isa : supportedSets()) {
      std::vector<uint16_t> out(65536);
      kernelsOf(isa).expand({.in = raw.view(), .out = {out.data(), 1, 65536, 65536}});
      const std::vector<float> values = raw.values(0);
      for (uint32_t i = 0; i < 65536; ++i) ASSERT_EQ(out[i], saturated(values[i])) << i;
    }
  }
}

TEST(NpuEmbedTest, RowsAreThoseOfTheTable) {
  Random random(3);
  for (const DType type : kTypes) {
    RawRows table(type, 9, dtypeInfo(type)->blockElements * 3);
    table.fill(random);
    const std::vector<int32_t> ids = {8, 0, 3, 3};
    std::vector<float> out(ids.size() * (table.columns + 1), 777);
    embed(
        {.ids = ids.data(), .table = table.view(), .out = {out.data(), ids.size(), table.columns, table.columns + 1}});
    for (size_t i = 0; i < ids.size(); ++i) {
      const std::vector<float> values = table.values(static_cast<uint64_t>(ids[i]));
      for (size_t k = 0; k < table.columns; ++k) ASSERT_TRUE(isSame(out[i * (table.columns + 1) + k], values[k]));
      EXPECT_EQ(out[i * (table.columns + 1) + table.columns], 777);
    }
  }
}

}  // namespace
}  // namespace firn::npu::test
