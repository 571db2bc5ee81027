#include "base/dtype.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace firn {
namespace {

constexpr std::array<DTypeInfo, 14> kTypes{{
    {DType::kF32, "f32", 1, 4, 0, false},
    {DType::kF16, "f16", 1, 2, 1, false},
    {DType::kBf16, "bf16", 1, 2, 30, false},
    {DType::kI32, "i32", 1, 4, 26, false},
    {DType::kI8, "i8", 1, 1, 24, false},
    {DType::kU8, "u8", 1, 1, -1, false},
    {DType::kQ4_0, "q4_0", 32, 18, 2, true},
    {DType::kQ4_1, "q4_1", 32, 20, 3, true},
    {DType::kQ8_0, "q8_0", 32, 34, 8, true},
    {DType::kQ5_0, "q5_0", 32, 22, 6, true},
    {DType::kQ5_1, "q5_1", 32, 24, 7, true},
    {DType::kQ4_K, "q4_k", 256, 144, 12, true},
    {DType::kQ5_K, "q5_k", 256, 176, 13, true},
    {DType::kQ6_K, "q6_k", 256, 210, 14, true},
}};

// dtypeInfo takes a type for its row.
static_assert([] {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (static_cast<size_t>(kTypes[i].type) != i) return false;
  }
  return true;
}());

}  // namespace

const DTypeInfo* dtypeInfo(DType type) {
  const auto index = static_cast<size_t>(type);
  return index < kTypes.size() ? &kTypes[index] : nullptr;
}

const DTypeInfo* dtypeFromGgml(int64_t ggmlType) {
  if (ggmlType < 0) return nullptr;
  for (const DTypeInfo& info : kTypes) {
    if (info.ggmlType == ggmlType) return &info;
  }
  return nullptr;
}

std::optional<uint64_t> dtypeBytes(DType type, uint64_t elements) {
  const DTypeInfo* info = dtypeInfo(type);
  if (info == nullptr || elements % info->blockElements != 0) return std::nullopt;
  const uint64_t blocks = elements / info->blockElements;
  if (blocks > std::numeric_limits<uint64_t>::max() / info->blockBytes) return std::nullopt;
  return blocks * info->blockBytes;
}

float f16ToF32(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1FU;
  uint32_t mantissa = half & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Subnormal: the value is mantissa * 2^-24, exact in fp32.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

uint16_t f32ToF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<uint16_t>(sign | 0x7E00U | ((magnitude >> 13) & 0x3FFU));
  if (magnitude >= 0x477FF000U) return static_cast<uint16_t>(sign | 0x7C00U);  // 65520 and above round to infinity
  if (magnitude < 0x38800000U) {
    // Below 2^-14: adding 0.5 makes the fp32 adder round to multiples of 2^-24, to nearest even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000U));
  }
  const uint32_t odd = (magnitude >> 13) & 1U;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000U + 0xFFFU + odd) >> 13));
}

float bf16ToF32(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

}  // namespace firn
