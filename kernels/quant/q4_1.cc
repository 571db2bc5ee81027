#include "kernels/quant/q4_1.h"

#include <array>
#include <cstring>

#include "kernels/quant/group_planes.h"

namespace firn::quant {
namespace {

constexpr uint64_t kBlockBytes = 20;
constexpr uint32_t kCodeBytes = 16;
constexpr uint64_t kPanelGroupBytes = kCodeBytes * kPanelRows;

struct ScaleAndMin {
  uint16_t scaleBits;
  uint16_t minBits;
};

void decodeGroup(const std::byte* codes, ScaleAndMin bits, float* out) {
  const float scale = f16ToF32(bits.scaleBits);
  const float min = f16ToF32(bits.minBits);
  for (uint32_t i = 0; i < kCodeBytes; ++i) {
    const auto byte = static_cast<int32_t>(codes[i]);
    out[i] = scale * static_cast<float>(byte & 15) + min;
    out[i + kCodeBytes] = scale * static_cast<float>(byte >> 4) + min;
  }
}

void dequantize(const std::byte* source, std::span<float> out) {
  for (uint64_t g = 0; g < out.size() / kGroup; ++g) {
    const std::byte* block = source + g * kBlockBytes;
    decodeGroup(block + 4, {loadAs<uint16_t>(block), loadAs<uint16_t>(block + 2)}, out.data() + g * kGroup);
  }
}

void pack(const PanelRows& rows, uint64_t columns, std::byte* panel) {
  const PanelShape planes = planesOf(DType::kQ4_1, columns);
  std::memset(panel, 0, planes.panelBytes);
  for (uint64_t g = 0; g < columns / kGroup; ++g) {
    for (uint32_t r = 0; r < kPanelRows; ++r) {
      if (rows[r] == nullptr) continue;
      const std::byte* block = rows[r] + g * kBlockBytes;
      setPlaneBits(panel + planes.scalesOffset, g, r, loadAs<uint16_t>(block));
      setPlaneBits(panel + planes.minsOffset, g, r, loadAs<uint16_t>(block + 2));
      scatterCodes(block + 4, kCodeBytes, r, panel + g * kPanelGroupBytes);
    }
  }
}

void unpackRow(const std::byte* panel, uint32_t row, std::span<float> out) {
  const PanelShape planes = planesOf(DType::kQ4_1, out.size());
  std::array<std::byte, kCodeBytes> codes;
  for (uint64_t g = 0; g < out.size() / kGroup; ++g) {
    gatherCodes(panel + g * kPanelGroupBytes, kCodeBytes, row, codes.data());
    const ScaleAndMin bits{planeBits(panel + planes.scalesOffset, g, row),
                           planeBits(panel + planes.minsOffset, g, row)};
    decodeGroup(codes.data(), bits, out.data() + g * kGroup);
  }
}

}  // namespace

const PanelFormat& q41Format() {
  static constexpr PanelFormat kFormat = {
      .type = DType::kQ4_1, .dequantize = dequantize, .pack = pack, .unpackRow = unpackRow};
  return kFormat;
}

}  // namespace firn::quant
