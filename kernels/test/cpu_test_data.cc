#include "kernels/test/cpu_test_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "base/align.h"
#include "kernels/quant/panel.h"

namespace firn::cpu::test {
namespace {

void putHalf(std::byte* at, float value) {
  const uint16_t half = f32ToF16(value);
  std::memcpy(at, &half, sizeof half);
}

/// A scale as model files have them, now and then an odd one.
float randomScale(Random& random) {
  switch (random.below(24)) {
    case 0: return 0;
    case 1: return 0x1p-24F * static_cast<float>(random.below(1024));
    case 2: return 100;
    default: return random.normal(0.02F);
  }
}

/// Where the codes of a block start, for types with a min: all bytes in front are scales and mins. Else 0.
uint32_t firstCodeByte(DType type) {
  switch (type) {
    case DType::kQ4_1:
    case DType::kQ5_1: return 4;
    case DType::kQ4_K:
    case DType::kQ5_K: return 16;
    default: return 0;
  }
}

/// One row of source blocks.
void fillRow(DType type, std::span<std::byte> row, Random& random) {
  const DTypeInfo& info = *dtypeInfo(type);
  for (size_t at = 0; at < row.size(); at += info.blockBytes) {
    std::byte* block = row.data() + at;
    if (type == DType::kF32) {
      const float value = random.normal(0.1F);
      std::memcpy(block, &value, sizeof value);
    } else if (type == DType::kF16) {
      putHalf(block, random.normal(0.1F));
    } else if (type == DType::kBf16) {
      const auto value = static_cast<uint16_t>(std::bit_cast<uint32_t>(random.normal(0.1F)) >> 16);
      std::memcpy(block, &value, sizeof value);
    } else {
      for (uint32_t i = 0; i < info.blockBytes; ++i) block[i] = static_cast<std::byte>(random.below(256));
      putHalf(block + (type == DType::kQ6_K ? info.blockBytes - 2 : 0), randomScale(random));
      if (firstCodeByte(type) != 0) putHalf(block + 2, randomScale(random) * 8);
    }
  }
}

/// Fills Matrix::magnitudes for one row: where there are mins, from the weights with all codes at their least, 0, and
/// at their largest.
void fillMagnitudes(DType type, std::span<const std::byte> row, std::span<const float> values, std::span<float> out) {
  std::transform(values.begin(), values.end(), out.begin(), [](float value) { return std::fabs(value); });
  const uint32_t firstCode = firstCodeByte(type);
  if (firstCode == 0) return;
  const auto withCodes = [&](std::byte code) {
    std::vector<std::byte> bytes(row.begin(), row.end());
    const uint32_t blockBytes = dtypeInfo(type)->blockBytes;
    for (size_t at = 0; at < bytes.size(); ++at) {
      if (at % blockBytes >= firstCode) bytes[at] = code;
    }
    std::vector<float> weights(values.size());
    quant::dequantizeRow(type, bytes, weights);
    return weights;
  };
  const std::vector<float> mins = withCodes(std::byte{0});
  const std::vector<float> largest = withCodes(std::byte{0xFF});
  for (size_t k = 0; k < out.size(); ++k) out[k] = std::fabs(largest[k] - mins[k]) + std::fabs(mins[k]);
}

}  // namespace

std::vector<InstructionSet> supportedSets() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet isa : {InstructionSet::kPortable, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (isSupported(isa)) sets.push_back(isa);
  }
  return sets;
}

float Random::normal(float sigma) {
  const uint64_t bits = engine_();
  float total = -2;
  for (int part = 0; part < 4; ++part) total += static_cast<float>((bits >> (16 * part)) & 0xFFFF) / 65536;
  return total * std::sqrt(3.0F) * sigma;
}

std::vector<float> Random::normals(size_t count, float sigma) {
  std::vector<float> values(count);
  for (float& value : values) value = normal(sigma);
  return values;
}

std::vector<float> Random::extremes(size_t count) {
  std::vector<float> values(count);
  for (float& value : values) {
    switch (below(8)) {
      case 0: value = below(2) == 0 ? 0.0F : -0.0F; break;
      case 1: value = std::ldexp(normal(), -126 - static_cast<int>(below(20))); break;
      case 2: value = std::ldexp(normal(), static_cast<int>(below(11))); break;
      case 3: value = std::ldexp(normal(), -static_cast<int>(below(60))); break;
      default: value = normal();
    }
  }
  return values;
}

Matrix randomMatrix(DType type, uint32_t rows, uint32_t columns, Random& random) {
  Matrix matrix{type, rows, columns, {}, {}, {}};
  if (columns == 0) return matrix;
  // The matrix is a part of wider rows where blocks are longer than groups of 32, and starts inside a block.
  const uint32_t block = dtypeInfo(type)->blockElements;
  const uint32_t first = block <= 32 ? 0 : 32 * random.below(block / 32);
  const uint32_t width = roundUp(first + columns, block);
  const uint64_t rowBytes = *dtypeBytes(type, width);
  std::vector<std::byte> source(rows * rowBytes);
  std::vector<float> values(width);
  std::vector<float> magnitudes(width);
  for (uint32_t r = 0; r < rows; ++r) {
    const std::span<std::byte> row = std::span(source).subspan(r * rowBytes, rowBytes);
    fillRow(type, row, random);
    quant::dequantizeRow(type, row, values);
    fillMagnitudes(type, row, values, magnitudes);
    matrix.values.insert(matrix.values.end(), values.begin() + first, values.begin() + first + columns);
    matrix.magnitudes.insert(matrix.magnitudes.end(), magnitudes.begin() + first, magnitudes.begin() + first + columns);
  }
  std::vector<uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0U);
  matrix.packed.resize(*quant::panelBytes(type, rows, columns));
  const quant::PackSource pack{type, source, width, first, columns};
  const Status status = quant::packPanels(pack, order, matrix.packed);
  EXPECT_TRUE(status.isOk()) << status.message();
  return matrix;
}

bool isSame(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

int64_t firstDifference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!isSame(a[i], b[i])) return static_cast<int64_t>(i);
  }
  return -1;
}

CodeStorage::CodeStorage(uint32_t rows, uint32_t columns, uint32_t planeCount)
    : planes(planeCount),
      rowStride(roundUp(size_t{columns}, 32)),
      groupStride(rowStride / 32),
      planeStride(rowStride * rows),
      bytes(planeStride * planeCount, 99),
      scales(groupStride * rows, -1),
      sums(groupStride * rows, -1) {}

Codes CodeStorage::codes() {
  return {bytes.data(), scales.data(), sums.data(), planeStride, rowStride, groupStride, planes};
}

ConstCodes CodeStorage::view() const {
  return {bytes.data(), scales.data(), sums.data(), planeStride, rowStride, groupStride, planes};
}

double CodeStorage::value(size_t row, size_t k) const {
  const int8_t* code = bytes.data() + row * rowStride + k;
  const int combined = planes == 1 ? code[0] : 256 * code[0] + code[planeStride];
  return combined * static_cast<double>(scales[row * groupStride + k / 32]);
}

}  // namespace firn::cpu::test
