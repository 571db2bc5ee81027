// Building blocks shared by the formats that have one scale (and perhaps one min) per 32 weights: the planes of a
// panel, and unaligned little-endian access. What the bytes mean is told in panel.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/quant/panel.h"

namespace firn::quant {

inline constexpr uint64_t kPlaneAlignment = 64;
/// Bytes that one group of a panel takes in the plane of scales, and again in the plane of mins: 16 rows of f16.
inline constexpr uint64_t kGroupScaleBytes = kPanelRows * sizeof(uint16_t);

constexpr uint64_t alignPlane(uint64_t bytes) {
  return (bytes + kPlaneAlignment - 1) / kPlaneAlignment * kPlaneAlignment;
}

/// Codes, then f16 scales, then, with `hasMins`, f16 mins; each plane padded to 64 bytes.
constexpr PanelShape groupPlanes(uint64_t columns, uint64_t codeBytesPerGroup, bool hasMins) {
  const uint64_t groups = columns / kGroup;
  const uint64_t scaleBytes = alignPlane(groups * kGroupScaleBytes);
  PanelShape shape;
  shape.scalesOffset = alignPlane(groups * codeBytesPerGroup);
  shape.panelBytes = shape.scalesOffset + scaleBytes;
  if (hasMins) {
    shape.minsOffset = shape.panelBytes;
    shape.panelBytes += scaleBytes;
  }
  return shape;
}

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

}  // namespace firn::quant
