#include "kernels/test/cpu_test_data.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <numeric>

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
      putHalf(block, randomScale(random));
      if (type == DType::kQ4_1) putHalf(block + 2, randomScale(random) * 8);
    }
  }
}

/// Fills Matrix::magnitudes for one row.
void fillMagnitudes(DType type, std::span<const std::byte> row, std::span<const float> values, std::span<float> out) {
  for (size_t k = 0; k < out.size(); ++k) {
    out[k] = std::fabs(values[k]);
    if (type != DType::kQ4_1) continue;
    uint16_t halves[2];
    std::memcpy(halves, row.data() + k / 32 * 20, sizeof halves);
    out[k] = std::fabs(f16ToF32(halves[0])) * 15 + std::fabs(f16ToF32(halves[1]));
  }
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
  const uint64_t rowBytes = *dtypeBytes(type, columns);
  std::vector<std::byte> source(rows * rowBytes);
  matrix.values.resize(size_t{rows} * columns);
  matrix.magnitudes.resize(matrix.values.size());
  for (uint32_t r = 0; r < rows; ++r) {
    const std::span<std::byte> row = std::span(source).subspan(r * rowBytes, rowBytes);
    fillRow(type, row, random);
    const std::span<float> values = std::span(matrix.values).subspan(size_t{r} * columns, columns);
    quant::dequantizeRow(type, row, values);
    fillMagnitudes(type, row, values, std::span(matrix.magnitudes).subspan(size_t{r} * columns, columns));
  }
  std::vector<uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0U);
  matrix.packed.resize(*quant::packedBytes(type, rows, columns));
  const quant::PackSource pack{type, source, columns, 0, columns};
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
      rowStride((size_t{columns} + 31) / 32 * 32),
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
