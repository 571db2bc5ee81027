#include "kernels/quant/q8_0.h"

#include <array>
#include <cstring>

#include "kernels/quant/group_planes.h"

namespace firn::quant {
namespace {

constexpr uint64_t kBlockBytes = 34;
constexpr uint64_t kPanelGroupBytes = kGroup * kPanelRows;
/// Two's complement byte + 128, modulo 256, is the byte with its top bit flipped.
constexpr std::byte kBias{0x80};

using GroupCodes = std::array<std::byte, kGroup>;

GroupCodes flipBias(const std::byte* codes) {
  GroupCodes flipped;
  for (uint32_t i = 0; i < kGroup; ++i) flipped[i] = codes[i] ^ kBias;
  return flipped;
}

void decodeGroup(const std::byte* signedCodes, uint16_t scaleBits, float* out) {
  const float scale = f16ToF32(scaleBits);
  for (uint32_t i = 0; i < kGroup; ++i) {
    out[i] = scale * static_cast<float>(static_cast<int8_t>(signedCodes[i]));
  }
}

void dequantize(const std::byte* source, std::span<float> out) {
  for (uint64_t g = 0; g < out.size() / kGroup; ++g) {
    const std::byte* block = source + g * kBlockBytes;
    decodeGroup(block + 2, loadAs<uint16_t>(block), out.data() + g * kGroup);
  }
}

void pack(const PanelRows& rows, uint64_t columns, std::byte* panel) {
  const PanelShape planes = planesOf(DType::kQ8_0, columns);
  std::memset(panel, 0, planes.panelBytes);
  for (uint64_t g = 0; g < columns / kGroup; ++g) {
    for (uint32_t r = 0; r < kPanelRows; ++r) {
      if (rows[r] == nullptr) continue;
      const std::byte* block = rows[r] + g * kBlockBytes;
      setPlaneBits(panel + planes.scalesOffset, g, r, loadAs<uint16_t>(block));
      scatterCodes(flipBias(block + 2).data(), kGroup, r, panel + g * kPanelGroupBytes);
    }
  }
}

void unpackRow(const std::byte* panel, uint32_t row, std::span<float> out) {
  const PanelShape planes = planesOf(DType::kQ8_0, out.size());
  GroupCodes codes;
  for (uint64_t g = 0; g < out.size() / kGroup; ++g) {
    gatherCodes(panel + g * kPanelGroupBytes, kGroup, row, codes.data());
    decodeGroup(flipBias(codes.data()).data(), planeBits(panel + planes.scalesOffset, g, row), out.data() + g * kGroup);
  }
}

}  // namespace

const PanelFormat& q80Format() {
  static constexpr PanelFormat kFormat = {
      .type = DType::kQ8_0, .dequantize = dequantize, .pack = pack, .unpackRow = unpackRow};
  return kFormat;
}

}  // namespace firn::quant
