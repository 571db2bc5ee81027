// What the tests of weight formats share: random source rows, and the bits of dequantized and unpacked weights.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "kernels/quant/panel.h"

namespace firn::quant {

using Bytes = std::vector<std::byte>;

inline Bytes randomBytes(uint64_t size, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

inline std::vector<uint32_t> identity(uint32_t rows) {
  std::vector<uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

/// The bits of values of a type. Arithmetic on NaN may give any NaN (the sum of two depends on the order of operands),
/// so where weights are computed all NaN count as one.
inline std::vector<uint32_t> bitsOf(DType type, std::span<const float> values) {
  std::vector<uint32_t> bits;
  for (const float value : values) {
    bits.push_back(dtypeInfo(type)->isQuantized && std::isnan(value) ? 0x7FC00000U : std::bit_cast<uint32_t>(value));
  }
  return bits;
}

inline std::vector<uint32_t> dequantizedBits(DType type, std::span<const std::byte> row, uint64_t columns) {
  std::vector<float> values(columns);
  dequantizeRow(type, row, values);
  return bitsOf(type, values);
}

inline std::vector<uint32_t> unpackedBits(DType type, const Bytes& packed, uint64_t row, uint64_t columns) {
  std::vector<float> values(columns);
  unpackPanelRow(type, packed, row, columns, values);
  return bitsOf(type, values);
}

}  // namespace firn::quant
