#include "kernels/quant/q4_0.h"

#include <array>
#include <cstring>

#include "kernels/quant/group_planes.h"

namespace firn::quant {
namespace {

constexpr uint64_t kBlockBytes = 18;
constexpr uint32_t kCodeBytes = 16;
constexpr uint64_t kPanelGroupBytes = kCodeBytes * kPanelRows;

void decodeGroup(const std::byte* codes, uint16_t scaleBits, float* out) {
  const float scale = f16ToF32(scaleBits);
  for (uint32_t i = 0; i < kCodeBytes; ++i) {
    const auto byte = static_cast<int32_t>(codes[i]);
    out[i] = scale * static_cast<float>((byte & 15) - 8);
    out[i + kCodeBytes] = scale * static_cast<float>((byte >> 4) - 8);
  }
}

void dequantize(const std::byte* source, std::span<float> out) {
  for (uint64_t g = 0; g < out.size() / kGroup; ++g) {
    const std::byte* block = source + g * kBlockBytes;
    decodeGroup(block + 2, loadAs<uint16_t>(block), out.data() + g * kGroup);
  }
}

void pack(const PanelRows& rows, uint64_t columns, std::byte* panel) {
  const PanelShape planes = planesOf(DType::kQ4_0, columns);
  std::memset(panel, 0, planes.panelBytes);
  for (uint64_t g = 0; g < columns / kGroup; ++g) {
    for (uint32_t r = 0; r < kPanelRows; ++r) {
      if (rows[r] == nullptr) continue;
      const std::byte* block = rows[r] + g * kBlockBytes;
      setPlaneBits(panel + planes.scalesOffset, g, r, loadAs<uint16_t>(block));
      scatterCodes(block + 2, kCodeBytes, r, panel + g * kPanelGroupBytes);
    }
  }
}

void unpackRow(const std::byte* panel, uint32_t row, std::span<float> out) {
  const PanelShape planes = planesOf(DType::kQ4_0, out.size());
  std::array<std::byte, kCodeBytes> codes;
  for (uint64_t g = 0; g < out.size() / kGroup; ++g) {
    gatherCodes(panel + g * kPanelGroupBytes, kCodeBytes, row, codes.data());
    decodeGroup(codes.data(), planeBits(panel + planes.scalesOffset, g, row), out.data() + g * kGroup);
  }
}

}  // namespace

const PanelFormat& q40Format() {
  static constexpr PanelFormat kFormat = {
      .type = DType::kQ4_0, .dequantize = dequantize, .pack = pack, .unpackRow = unpackRow};
  return kFormat;
}

}  // namespace firn::quant
