// Building blocks shared by the formats that have groups of 32 weights: the planes of a panel, the codes of a group,
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

/// The codes of a group, one a byte, in ascending k.
using GroupCodes = std::array<uint8_t, kGroup>;

/// Bytes that the codes of one group take in a panel.
constexpr uint64_t groupCodeBytes(uint32_t codeBits) { return uint64_t{codeBits} * kGroup * kPanelRows / 8; }

/// Four codes from `codes` + 4 * j on, one a byte of a word: a group has a word of each row in each of its lines of 64.
inline uint32_t fourCodes(const GroupCodes& codes, uint32_t j) {
  return loadAs<uint32_t>(std::as_bytes(std::span(codes)).data() + 4 * j);
}
inline std::byte* groupWord(std::byte* group, uint32_t line, uint32_t row) { return group + line * 64 + row * 4; }
inline uint32_t groupWord(const std::byte* group, uint32_t line, uint32_t row) {
  return loadAs<uint32_t>(group + line * 64 + row * 4);
}

/// How the bits above the fourth of codes of 5 and 6 bits share lines.
template <uint32_t kCodeBits>
struct HighBits {
  static constexpr uint32_t kCount = kCodeBits - 4;
  static constexpr uint32_t kLineWords = 8 / std::max(kCount, 1U);  ///< words of 4 codes whose high bits fill a line
  static constexpr uint32_t kMask = (0x01010101U << kCount) - 0x01010101U;
};

/// Puts the codes of row `row`, of 4, 5, 6 or 8 bits, into a group of a panel that is zero there.
template <uint32_t kCodeBits>
void putCodes(const GroupCodes& codes, uint32_t row, std::byte* group) {
  if constexpr (kCodeBits == 8) {
    for (uint32_t j = 0; j < 8; ++j) storeAs(groupWord(group, j, row), fourCodes(codes, j));
  } else {
    using High = HighBits<kCodeBits>;
    for (uint32_t j = 0; j < 4; ++j) {
      const uint32_t low = fourCodes(codes, j) & 0x0F0F0F0FU;
      storeAs(groupWord(group, j, row), low | (fourCodes(codes, j + 4) & 0x0F0F0F0FU) << 4);
    }
    for (uint32_t line = 0; line < High::kCount; ++line) {
      uint32_t bits = 0;
      for (uint32_t i = 0; i < High::kLineWords; ++i) {
        bits |= (fourCodes(codes, line * High::kLineWords + i) >> 4 & High::kMask) << High::kCount * i;
      }
      storeAs(groupWord(group, 4 + line, row), bits);
    }
  }
}

/// The inverse of putCodes.
template <uint32_t kCodeBits>
GroupCodes takeCodes(const std::byte* group, uint32_t row) {
  std::array<uint32_t, kGroup / 4> words;
  if constexpr (kCodeBits == 8) {
    for (uint32_t j = 0; j < 8; ++j) words[j] = groupWord(group, j, row);
  } else {
    using High = HighBits<kCodeBits>;
    for (uint32_t j = 0; j < 4; ++j) {
      words[j] = groupWord(group, j, row) & 0x0F0F0F0FU;
      words[j + 4] = groupWord(group, j, row) >> 4 & 0x0F0F0F0FU;
    }
    for (uint32_t line = 0; line < High::kCount; ++line) {
      const uint32_t bits = groupWord(group, 4 + line, row);
      for (uint32_t i = 0; i < High::kLineWords; ++i) {
        words[line * High::kLineWords + i] |= (bits >> High::kCount * i & High::kMask) << 4;
      }
    }
  }
  GroupCodes codes;
  std::memcpy(codes.data(), words.data(), codes.size());
  return codes;
}

/// Codes of 4 bits as q4_0 and q4_1 blocks hold them: 16 bytes whose low nibbles belong to weights 0..15 and whose high
/// nibbles to 16..31.
inline GroupCodes codesOf4Bits(const std::byte* source) {
  GroupCodes codes;
  for (uint32_t i = 0; i < kGroup / 2; ++i) {
    const auto byte = static_cast<uint32_t>(source[i]);
    codes[i] = static_cast<uint8_t>(byte & 15);
    codes[i + 16] = static_cast<uint8_t>(byte >> 4);
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
