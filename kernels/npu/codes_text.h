// Integer codes of weights as fp32, and the choice of the text for what they are. Kernel text: included after a vector
// header.
#pragma once

#include "kernels/npu/lanes_text.h"

namespace firn::npu {
namespace {

/// What codes of 4 bits, signed bytes and unsigned bytes differ in.
template <int kCodeBits, bool kAreSigned>
struct CodeKind {
  static constexpr int kBits = kCodeBits;
  static constexpr bool kSigned = kAreSigned;
};

/// Codes k .. k + n of a row, each minus zero; n is 16 or less, k and n are even where a byte has two codes.
template <typename Kind>
FIRN_INLINE F32 codesAt(const uint8_t* row, size_t k, size_t n, float zero) {
  if constexpr (Kind::kBits == 8) {
    const U8x16 bytes = loadU8x16(row + k, n);
    return Kind::kSigned ? toFloatSigned(bytes) : sub(toFloat(bytes), splat(zero));
  } else {
    const U8x16 pairs = n == 16 ? loadU8x16(row + k / 2, 8) : loadU8x16(row + k / 2, n / 2);
    const U8x16 low = pairs & 15;
    const U8x16 high = pairs >> 4;
    const U8x16 inOrder = __builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return sub(toFloat(inOrder), splat(zero));
  }
}

/// Calls function(CodeKind) with that of the codes.
template <typename Function>
FIRN_INLINE void withCodeKind(uint32_t bits, int32_t zero, const Function& function) {
  if (bits == 4) return function(CodeKind<4, false>{});
  if (zero == 0) return function(CodeKind<8, true>{});
  function(CodeKind<8, false>{});
}

}  // namespace
}  // namespace firn::npu
