// Building blocks shared by the formats that have groups of 32 weights: the planes of a panel, codes of 5 and 6 bits,
// and unaligned little-endian access. What the bytes mean is told in panel.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/quant/panel.h"

namespace firn::quant {

/// Bytes that one group of a panel takes in the plane of scales, and again in the plane of mins: 16 rows of f16.
inline constexpr uint64_t kGroupScaleBytes = kPanelRows * sizeof(uint16_t);

/// The planes of a panel of a type and width that were checked.
inline PanelShape planesOf(DType type, uint64_t columns) { return panelShape(type, columns).value_or(PanelShape{}); }

template <typename T>
T loadAs(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void storeAs(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

/// The f16 of (group, row) in a plane of scales or mins, as its bits.
inline uint16_t planeBits(const std::byte* plane, uint64_t group, uint32_t row) {
  return loadAs<uint16_t>(plane + group * kGroupScaleBytes + row * sizeof(uint16_t));
}
inline void setPlaneBits(std::byte* plane, uint64_t group, uint32_t row, uint16_t bits) {
  storeAs(plane + group * kGroupScaleBytes + row * sizeof(uint16_t), bits);
}

/// Spreads `count` (a multiple of 4) code bytes of row `row` over the 64-byte rows of a group: 4 bytes per row.
inline void scatterCodes(const std::byte* codes, uint32_t count, uint32_t row, std::byte* group) {
  for (uint32_t j = 0; j < count / 4; ++j) std::memcpy(group + j * 64 + row * 4, codes + j * 4, 4);
}

/// The inverse of scatterCodes.
inline void gatherCodes(const std::byte* group, uint32_t count, uint32_t row, std::byte* codes) {
  for (uint32_t j = 0; j < count / 4; ++j) std::memcpy(codes + j * 4, group + j * 64 + row * 4, 4);
}

/// The codes of a group, one a byte, in ascending k.
using GroupCodes = std::array<uint8_t, kGroup>;

/// Bytes that the codes of one group take in a panel.
constexpr uint64_t groupCodeBytes(uint32_t codeBits) { return uint64_t{codeBits} * kGroup * kPanelRows / 8; }

/// Puts the codes of row `row`, of 4, 5 or 6 bits, into a group of a panel that is zero there.
template <uint32_t kCodeBits>
void putCodes(const GroupCodes& codes, uint32_t row, std::byte* group) {
  constexpr uint32_t kHighBits = kCodeBits - 4;
  const auto four = [&codes](uint32_t j) { return loadAs<uint32_t>(std::as_bytes(std::span(codes)).data() + 4 * j); };
  for (uint32_t j = 0; j < 4; ++j) {
    storeAs(group + j * 64 + row * 4, (four(j) & 0x0F0F0F0FU) | (four(j + 4) & 0x0F0F0F0FU) << 4);
  }
  for (uint32_t line = 0; line < kHighBits; ++line) {
    constexpr uint32_t kLineRows = 8 / std::max(kHighBits, 1U);  // rows of 4 codes whose high bits fill a line
    uint32_t bits = 0;
    for (uint32_t i = 0; i < kLineRows; ++i) {
      bits |= (four(line * kLineRows + i) >> 4 & (0x01010101U << kHighBits) - 0x01010101U) << kHighBits * i;
    }
    storeAs(group + (4 + line) * 64 + row * 4, bits);
  }
}

/// The inverse of putCodes.
template <uint32_t kCodeBits>
GroupCodes takeCodes(const std::byte* group, uint32_t row) {
  constexpr uint32_t kHighBits = kCodeBits - 4;
  GroupCodes codes;
  for (uint32_t k = 0; k < kGroup; ++k) {
    const uint32_t at = row * 4 + k % 4;
    const auto byteOf = [group, at](uint32_t line) { return static_cast<uint32_t>(group[line * 64 + at]); };
    uint32_t code = byteOf(k / 4 % 4) >> (k < kGroup / 2 ? 0 : 4) & 15;
    if constexpr (kHighBits != 0) {
      const uint32_t bit = k / 4 * kHighBits;
      code |= (byteOf(4 + bit / 8) >> bit % 8 & ((1U << kHighBits) - 1)) << 4;
    }
    codes[k] = static_cast<uint8_t>(code);
  }
  return codes;
}

/// Codes of 5 bits as q5_0 and q5_1 blocks hold them: bit k of 4 bytes is the fifth bit of weight k; then 16 bytes
/// whose low nibbles belong to weights 0..15 and whose high nibbles to 16..31.
inline GroupCodes codesOf5Bits(const std::byte* source) {
  const auto fifth = loadAs<uint32_t>(source);
  GroupCodes codes;
  for (uint32_t i = 0; i < kGroup / 2; ++i) {
    const auto byte = static_cast<uint32_t>(source[4 + i]);
    codes[i] = static_cast<uint8_t>((byte & 15) | (fifth >> i & 1) << 4);
    codes[i + 16] = static_cast<uint8_t>(byte >> 4 | (fifth >> (i + 16) & 1) << 4);
  }
  return codes;
}

}  // namespace firn::quant
