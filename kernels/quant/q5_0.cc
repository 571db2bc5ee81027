#include "kernels/quant/q5_0.h"

#include <cstring>

#include "kernels/quant/group_planes.h"

namespace firn::quant {
namespace {

constexpr uint64_t kBlockBytes = 22;
constexpr uint32_t kCodeBits = 5;
constexpr uint64_t kPanelGroupBytes = groupCodeBytes(kCodeBits);

void decodeGroup(const GroupCodes& codes, uint16_t scaleBits, float* out) {
  const float scale = f16ToF32(scaleBits);
  for (uint32_t i = 0; i < kGroup; ++i) out[i] = scale * static_cast<float>(codes[i] - 16);
}

void dequantize(const std::byte* source, std::span<float> out) {
  for (uint64_t g = 0; g < out.size() / kGroup; ++g) {
    const std::byte* block = source + g * kBlockBytes;
    decodeGroup(codesOf5Bits(block + 2), loadAs<uint16_t>(block), out.data() + g * kGroup);
  }
}

void pack(const PanelRows& rows, uint64_t columns, std::byte* panel) {
  const PanelShape planes = planesOf(DType::kQ5_0, columns);
  std::memset(panel, 0, planes.panelBytes);
  for (uint64_t g = 0; g < columns / kGroup; ++g) {
    for (uint32_t r = 0; r < kPanelRows; ++r) {
      if (rows[r] == nullptr) continue;
      const std::byte* block = rows[r] + g * kBlockBytes;
      setPlaneBits(panel + planes.scalesOffset, g, r, loadAs<uint16_t>(block));
      putCodes<kCodeBits>(codesOf5Bits(block + 2), r, panel + g * kPanelGroupBytes);
    }
  }
}

void unpackRow(const std::byte* panel, uint32_t row, std::span<float> out) {
  const PanelShape planes = planesOf(DType::kQ5_0, out.size());
  for (uint64_t g = 0; g < out.size() / kGroup; ++g) {
    decodeGroup(takeCodes<kCodeBits>(panel + g * kPanelGroupBytes, row), planeBits(panel + planes.scalesOffset, g, row),
                out.data() + g * kGroup);
  }
}

}  // namespace

const PanelFormat& q50Format() {
  static constexpr PanelFormat kFormat = {
      .type = DType::kQ5_0, .dequantize = dequantize, .pack = pack, .unpackRow = unpackRow};
  return kFormat;
}

}  // namespace firn::quant
