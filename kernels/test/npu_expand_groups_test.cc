// npu.expand_groups and npu.embed_groups: over the formats that have planes against kernels/quant, and over any bits,
// zero and group size against the definition.
#include "kernels/npu/expand_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "kernels/quant/group_split.h"
#include "kernels/quant/panel.h"
#include "kernels/test/npu_test_data.h"

namespace firn::npu::test {
namespace {

constexpr DType kTypes[] = {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0};
constexpr uint16_t kUntouched = 0x1234;

/// Planes with gaps between their rows, and the weights that they stand for.
struct Planes {
  Planes(quant::GroupFormat planeFormat, uint64_t rowCount, uint64_t groupCount)
      : format(planeFormat),
        rows(rowCount),
        groups(groupCount),
        columns(groupCount * planeFormat.groupElements),
        codes(rowCount * codeStride()),
        scales(rowCount * (groupCount + 1)),
        mins(planeFormat.hasMins ? scales.size() : 0),
        values(rowCount * columns) {}

  uint64_t codeStride() const { return format.codeBytes(columns) + 3; }
  GroupsView view() const {
    GroupsView planes{.codes = {codes.data(), rows, format.codeBytes(columns), codeStride()},
                      .scales = {scales.data(), rows, groups, groups + 1},
                      .mins = {},
                      .bits = format.bits,
                      .zero = static_cast<int32_t>(format.zero)};
    if (format.hasMins) planes.mins = {mins.data(), rows, groups, groups + 1};
    return planes;
  }

  quant::GroupFormat format;
  uint64_t rows;
  uint64_t groups;
  uint64_t columns;
  std::vector<uint8_t> codes;
  std::vector<uint16_t> scales;
  std::vector<uint16_t> mins;
  std::vector<float> values;  ///< [rows, columns]
};

/// Any bytes as rows of `type`: NaN, infinite and subnormal scales among them.
Planes anyPlanesOf(DType type, uint64_t rows, uint64_t groups, Random& random) {
  Planes planes(*quant::groupFormat(type), rows, groups);
  const uint64_t rowBytes = *dtypeBytes(type, planes.columns);
  std::vector<std::byte> row(rowBytes);
  for (uint64_t i = 0; i < rows; ++i) {
    for (std::byte& byte : row) byte = static_cast<std::byte>(random.below(256));
    const std::span codes(planes.codes.data() + i * planes.codeStride(), planes.format.codeBytes(planes.columns));
    const uint64_t at = i * (groups + 1);
    quant::splitRow(
        type, row, planes.columns,
        {std::as_writable_bytes(codes), std::as_writable_bytes(std::span(&planes.scales[at], groups)),
         planes.format.hasMins ? std::as_writable_bytes(std::span(&planes.mins[at], groups)) : std::span<std::byte>()});
    quant::dequantizeRow(type, row, {&planes.values[i * planes.columns], planes.columns});
  }
  return planes;
}

/// The values of the definition.
void setValues(Planes& planes) {
  const quant::GroupFormat& format = planes.format;
  for (uint64_t i = 0; i < planes.rows; ++i) {
    const uint8_t* codes = planes.codes.data() + i * planes.codeStride();
    for (uint64_t k = 0; k < planes.columns; ++k) {
      const uint64_t g = i * (planes.groups + 1) + k / format.groupElements;
      int code = format.bits == 4 ? codes[k / 2] >> (k % 2 * 4) & 15 : codes[k];
      if (format.bits == 8 && format.zero == 0) code = static_cast<int8_t>(codes[k]);
      const float product = f16ToF32(planes.scales[g]) * static_cast<float>(code - static_cast<int>(format.zero));
      planes.values[i * planes.columns + k] = format.hasMins ? product + f16ToF32(planes.mins[g]) : product;
    }
  }
}

/// Random codes, scales and mins of any format.
Planes planesOf(quant::GroupFormat format, uint64_t rows, uint64_t groups, Random& random) {
  Planes planes(format, rows, groups);
  for (uint8_t& byte : planes.codes) byte = static_cast<uint8_t>(random.below(256));
  planes.scales = randomHalves(planes.scales.size(), random);
  planes.mins = randomHalves(planes.mins.size(), random);
  setValues(planes);
  return planes;
}

uint16_t saturated(float value) {
  return std::isfinite(value) ? f32ToF16(std::clamp(value, -65504.0F, 65504.0F)) : f32ToF16(value);
}

void expectExpanded(const Planes& planes) {
  const uint64_t stride = planes.columns + 3;
  for (const InstructionSet isa : supportedSets()) {
    std::vector<uint16_t> out(planes.rows * stride, kUntouched);
    kernelsOf(isa).expandGroups({.in = planes.view(), .out = {out.data(), planes.rows, planes.columns, stride}});
    for (uint64_t i = 0; i < planes.rows; ++i) {
      for (uint64_t k = 0; k < stride; ++k) {
        const uint16_t expected = k < planes.columns ? saturated(planes.values[i * planes.columns + k]) : kUntouched;
        ASSERT_TRUE(isSameHalf(out[i * stride + k], expected))
            << cpu::instructionSetName(isa) << " " << planes.format.bits << " bits, " << i << " " << k << ": "
            << out[i * stride + k] << ", expected " << expected;
      }
    }
  }
}

void expectEmbedded(const Planes& planes) {
  const uint64_t stride = planes.columns + 1;
  const std::vector<int32_t> ids = {static_cast<int32_t>(planes.rows) - 1, 0, 1, 1};
  for (const InstructionSet isa : supportedSets()) {
    std::vector<float> out(ids.size() * stride, 777);
    kernelsOf(isa).embedGroups(
        {.ids = ids.data(), .table = planes.view(), .out = {out.data(), ids.size(), planes.columns, stride}});
    for (uint64_t i = 0; i < ids.size(); ++i) {
      const float* expected = &planes.values[static_cast<uint64_t>(ids[i]) * planes.columns];
      for (uint64_t k = 0; k < planes.columns; ++k) {
        ASSERT_TRUE(isSame(out[i * stride + k], expected[k])) << cpu::instructionSetName(isa) << " " << i << " " << k;
      }
      EXPECT_EQ(out[i * stride + planes.columns], 777);
    }
  }
}

/// Formats that no type has, with groups that are no multiple of 16.
std::vector<quant::GroupFormat> otherFormats() {
  std::vector<quant::GroupFormat> formats;
  for (const uint32_t size : {2U, 14U, 16U, 30U, 48U, 128U}) {
    for (const bool hasMins : {false, true}) {
      formats.push_back({.bits = 4, .zero = 15, .hasMins = hasMins, .groupElements = size});
      formats.push_back({.bits = 8, .zero = 0, .hasMins = hasMins, .groupElements = size});
      formats.push_back({.bits = 8, .zero = 255, .hasMins = hasMins, .groupElements = size});
    }
  }
  return formats;
}

TEST(NpuExpandGroupsTest, AnyBytesOfTheFormats) {
  Random random(1);
  for (const DType type : kTypes) {
    for (const uint64_t groups : {1, 2, 19}) expectExpanded(anyPlanesOf(type, 40, groups, random));
  }
}

TEST(NpuExpandGroupsTest, AnyFormatAndGroupSize) {
  Random random(2);
  for (const quant::GroupFormat& format : otherFormats()) expectExpanded(planesOf(format, 5, 3, random));
}

TEST(NpuExpandGroupsTest, WeightsAroundTheLargestHalf) {
  Random random(3);
  for (const DType type : kTypes) {
    for (const float scale : {256.0F, 257.0F, 511.5F, 4400.0F, -8200.0F, 65504.0F, 0x1p-24F, -0.0F}) {
      for (const float min : {0.0F, -100.0F, 60000.0F}) {
        Planes planes = planesOf(*quant::groupFormat(type), 2, 4, random);
        std::ranges::fill(planes.scales, f32ToF16(scale));
        std::ranges::fill(planes.mins, f32ToF16(min));
        setValues(planes);
        expectExpanded(planes);
      }
    }
  }
}

TEST(NpuEmbedGroupsTest, RowsAreThoseOfTheTable) {
  Random random(4);
  for (const DType type : kTypes) expectEmbedded(anyPlanesOf(type, 9, 3, random));
  for (const quant::GroupFormat& format : otherFormats()) expectEmbedded(planesOf(format, 3, 3, random));
}

}  // namespace
}  // namespace firn::npu::test
