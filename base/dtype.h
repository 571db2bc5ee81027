// The element types that firn knows: one row per type. A new weight format is one row here and one file
// under kernels/quant/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace firn {

/// Types of tensors and operands. The numbers are part of the blob format: append, never renumber.
enum class DType : uint8_t {
  kF32 = 0,
  kF16 = 1,
  kBf16 = 2,
  kI32 = 3,
  kI8 = 4,
  kU8 = 5,
  kQ4_0 = 6,   ///< 32 weights: f16 scale, 16 bytes of nibbles
  kQ4_1 = 7,   ///< 32 weights: f16 scale, f16 min, 16 bytes of nibbles
  kQ8_0 = 8,   ///< 32 weights: f16 scale, 32 signed bytes
  kQ5_0 = 9,   ///< 32 weights: f16 scale, 4 bytes of fifth bits, 16 bytes of nibbles
  kQ5_1 = 10,  ///< 32 weights: f16 scale, f16 min, then as kQ5_0
  kQ4_K = 11,  ///< 256 weights in 8 groups: f16 scale and min, 6-bit scale and min of each group, nibbles
  kQ5_K = 12,  ///< as kQ4_K, with a fifth bit of each code
  kQ6_K = 13,  ///< 256 weights in 16 groups: codes of 6 bits, a signed byte of scale for each group, f16 scale
};

/// One row of the table. `blockElements` weights take `blockBytes` bytes; ggmlType is the number GGUF uses, or -1.
struct DTypeInfo {
  DType type;
  std::string_view name;  ///< lower case, as printed ("q4_1")
  uint32_t blockElements;
  uint32_t blockBytes;
  int32_t ggmlType;
  bool isQuantized;
};

/// The row of `type`, or nullptr when the number is no known type (data from a file).
const DTypeInfo* dtypeInfo(DType type);
/// The row whose GGUF number is `ggmlType`, or nullptr.
const DTypeInfo* dtypeFromGgml(int64_t ggmlType);
/// Bytes of `elements` contiguous elements; nullopt when they are no whole number of blocks or the size overflows.
std::optional<uint64_t> dtypeBytes(DType type, uint64_t elements);

/// fp16 (IEEE binary16) and bfloat16 conversions; round to nearest even, NaN stays NaN.
float f16ToF32(uint16_t half);
uint16_t f32ToF16(float value);
float bf16ToF32(uint16_t value);

}  // namespace firn
