// npu.expand. Kernel text: included after a vector header. One function a format gives the codes of 16 weights; values
// are computed with the operations of kernels/quant, in their order.
#pragma once

#include "kernels/npu/expand.h"
#include "kernels/npu/lanes_text.h"

namespace firn::npu {
namespace {

constexpr float kLargestHalf = 65504.0F;

/// f16 bits at any address. Written out, since a call for each group of weights would be a third of the work.
FIRN_INLINE float halfAt(const uint8_t* p) {
  uint16_t bits16;
  __builtin_memcpy(&bits16, p, sizeof bits16);
  const uint32_t sign = (bits16 & 0x8000U) << 16;
  const uint32_t magnitude = bits16 & 0x7FFFU;
  if (magnitude < 0x400U) {
    const float tiny = static_cast<float>(magnitude) * 0x1p-24F;
    return sign != 0 ? -tiny : tiny;
  }
  const uint32_t exponent = magnitude < 0x7C00U ? 112U << 23 : 0x7F800000U;
  const uint32_t number =
      sign | ((magnitude << 13) + (magnitude < 0x7C00U ? exponent : 0U)) | (magnitude < 0x7C00U ? 0U : exponent);
  float value;
  __builtin_memcpy(&value, &number, sizeof value);
  return value;
}

/// Rounds n weights to f16; the finite ones stay finite.
FIRN_INLINE void storeSaturated(uint16_t* out, F32 x, size_t n) {
  const F32 most = splat(kLargestHalf);
  const F32 finite = splat(3.40282347e38F);
  const F32 high = ifLess(finite, x, x, ifLess(most, x, most, x));
  const F32 low = ifLess(high, negate(finite), high, ifLess(high, negate(most), negate(most), high));
  storeF16N(out, low, n);
}

/// scale * code + min, or - min where kIsMinus, or without it. `isSafe`: no weight can be beyond the largest f16.
struct Affine {
  float scale;
  float min;
  bool isSafe;
};
/// Codes are at most maxCode in magnitude. A NaN is not safe, but then nothing is saturated either.
FIRN_INLINE Affine affine(float scale, float min, float maxCode) {
  const float bound = __builtin_fabsf(scale) * maxCode + __builtin_fabsf(min);
  return {scale, min, bound <= kLargestHalf};
}

enum class MinKind : uint8_t { kNone, kAdded, kSubtracted };

template <MinKind kMin>
FIRN_INLINE void storeWeights(uint16_t* out, F32 codes, const Affine& to, size_t n = 16) {
  F32 x = mul(splat(to.scale), codes);
  if constexpr (kMin == MinKind::kAdded) x = add(x, splat(to.min));
  if constexpr (kMin == MinKind::kSubtracted) x = sub(x, splat(to.min));
  if (to.isSafe) return storeF16N(out, x, n);
  storeSaturated(out, x, n);
}

/// 16 or 0 in each byte, for the fifth bits of 16 weights in two bytes.
FIRN_INLINE U8x16 fifthBits(const uint8_t* p) {
  const U8x16 two = loadU8x16(p, 2);
  const U8x16 spread = __builtin_shufflevector(two, two, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
  const U8x16 place = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  return reinterpret_cast<U8x16>((spread & place) != 0) & 16;
}

/// Blocks of 32 weights: a scale, a min where kHasMin, codes of kBits of which kZero is worth 0.
template <int kBits, bool kHasMin, int kZero>
FIRN_INLINE void expandBlock(const uint8_t* block, uint16_t* out) {
  constexpr MinKind kMin = kHasMin ? MinKind::kAdded : MinKind::kNone;
  const uint8_t* codes = block + (kHasMin ? 4 : 2);
  const Affine to = affine(halfAt(block), kHasMin ? halfAt(block + 2) : 0.0F, kBits == 8 ? 128 : 31);
  if constexpr (kBits == 8) {
    storeWeights<kMin>(out, toFloatSigned(loadU8x16(codes, 16)), to);
    storeWeights<kMin>(out + 16, toFloatSigned(loadU8x16(codes + 16, 16)), to);
  } else {
    const U8x16 pairs = loadU8x16(codes + (kBits == 5 ? 4 : 0), 16);
    U8x16 low = pairs & 15;
    U8x16 high = pairs >> 4;
    if constexpr (kBits == 5) {
      low |= fifthBits(codes);
      high |= fifthBits(codes + 2);
    }
    storeWeights<kMin>(out, sub(toFloat(low), splat(kZero)), to);
    storeWeights<kMin>(out + 16, sub(toFloat(high), splat(kZero)), to);
  }
}

/// The 6-bit scale and min of a group of q4_k and q5_k (kernels/quant/super_panels.h, superGroupScales).
FIRN_INLINE void groupScale(const uint8_t* packed, size_t group, float& scale, float& min) {
  const size_t low = group % 4;
  if (group < 4) {
    scale = static_cast<float>(packed[low] & 63);
    min = static_cast<float>(packed[low + 4] & 63);
    return;
  }
  scale = static_cast<float>((packed[low + 8] & 15) | packed[low] >> 6 << 4);
  min = static_cast<float>(packed[low + 8] >> 4 | packed[low + 4] >> 6 << 4);
}

/// Super-blocks of q4_k (kBits 4) and q5_k (5).
template <int kBits>
FIRN_INLINE void expandSuper(const uint8_t* block, uint16_t* out) {
  const float d = halfAt(block);
  const float dmin = halfAt(block + 2);
  const uint8_t* fifths = block + 16;
  const uint8_t* nibbles = block + (kBits == 5 ? 48 : 16);
  for (size_t g = 0; g < 8; ++g) {
    float scale;
    float min;
    groupScale(block + 4, g, scale, min);
    const Affine to = affine(d * scale, dmin * min, 31);
    for (size_t half = 0; half < 32; half += 16) {
      const U8x16 pairs = loadU8x16(nibbles + g / 2 * 32 + half, 16);
      U8x16 codes = g % 2 == 0 ? pairs & 15 : pairs >> 4;
      if constexpr (kBits == 5) codes |= (loadU8x16(fifths + half, 16) >> static_cast<uint8_t>(g) & 1) << 4;
      storeWeights<MinKind::kSubtracted>(out + 32 * g + half, toFloat(codes), to);
    }
  }
}

/// Super-blocks of q6_k: 16 weights have a scale.
FIRN_INLINE void expandQ6K(const uint8_t* block, uint16_t* out) {
  const float d = halfAt(block + 208);
  for (size_t s = 0; s < 16; ++s) {
    const size_t part = s / 2 % 4;
    const size_t half = s / 8;
    const U8x16 pairs = loadU8x16(block + 64 * half + 32 * (part % 2) + s % 2 * 16, 16);
    const U8x16 nibbles = part < 2 ? pairs & 15 : pairs >> 4;
    const U8x16 high = loadU8x16(block + 128 + 32 * half + s % 2 * 16, 16) >> static_cast<uint8_t>(2 * part) & 3;
    const Affine to = affine(d * static_cast<float>(static_cast<int8_t>(block[192 + s])), 0, 32);
    storeWeights<MinKind::kNone>(out + 16 * s, sub(toFloat(nibbles | high << 4), splat(32)), to);
  }
}

/// The n elements at any address, at one that fits, with zeros behind them.
template <typename T>
struct Aligned {
  T data[16] = {};

  FIRN_INLINE Aligned(const uint8_t* in, size_t n) {
    if (n == 16) {
      __builtin_memcpy(data, in, sizeof data);
    } else {
      __builtin_memcpy(data, in, n * sizeof(T));
    }
  }
};

/// 16 weights of f32, f16 or bf16, or the last n of a row.
template <DType kType>
FIRN_INLINE void expandFloats(const uint8_t* in, uint16_t* out, size_t n) {
  if constexpr (kType == DType::kF32) return storeSaturated(out, load(Aligned<float>(in, n).data), n);
  if constexpr (kType == DType::kF16) return storeF16N(out, loadF16(Aligned<uint16_t>(in, n).data), n);
  if constexpr (kType == DType::kBf16) return storeSaturated(out, loadBf16(Aligned<uint16_t>(in, n).data), n);
}

/// All rows, `one(in, out, n)` for each kElements weights in kBytes bytes.
template <size_t kElements, size_t kBytes, typename One>
FIRN_INLINE void expandRows(const ExpandArgs& args, const One& one) {
  for (size_t i = 0; i < args.in.rows; ++i) {
    const uint8_t* in = reinterpret_cast<const uint8_t*>(args.in.data) + i * args.in.rowBytes;
    uint16_t* out = rowOf(args.out, i);
    for (size_t k = 0; k < args.in.columns; k += kElements) {
      one(in + k / kElements * kBytes, out + k, least(kElements, args.in.columns - k));
    }
  }
}

#define FIRN_ONE(call) [](const uint8_t* in, uint16_t* out, size_t n) { static_cast<void>(n), call; }

void expandKernel(const ExpandArgs& args) {
  switch (args.in.type) {
    case DType::kF32: return expandRows<16, 64>(args, FIRN_ONE(expandFloats<DType::kF32>(in, out, n)));
    case DType::kF16: return expandRows<16, 32>(args, FIRN_ONE(expandFloats<DType::kF16>(in, out, n)));
    case DType::kBf16: return expandRows<16, 32>(args, FIRN_ONE(expandFloats<DType::kBf16>(in, out, n)));
    case DType::kQ4_0: return expandRows<32, 18>(args, FIRN_ONE((expandBlock<4, false, 8>(in, out))));
    case DType::kQ4_1: return expandRows<32, 20>(args, FIRN_ONE((expandBlock<4, true, 0>(in, out))));
    case DType::kQ5_0: return expandRows<32, 22>(args, FIRN_ONE((expandBlock<5, false, 16>(in, out))));
    case DType::kQ5_1: return expandRows<32, 24>(args, FIRN_ONE((expandBlock<5, true, 0>(in, out))));
    case DType::kQ8_0: return expandRows<32, 34>(args, FIRN_ONE((expandBlock<8, false, 0>(in, out))));
    case DType::kQ4_K: return expandRows<256, 144>(args, FIRN_ONE(expandSuper<4>(in, out)));
    case DType::kQ5_K: return expandRows<256, 176>(args, FIRN_ONE(expandSuper<5>(in, out)));
    case DType::kQ6_K: return expandRows<256, 210>(args, FIRN_ONE(expandQ6K(in, out)));
    case DType::kI32:
    case DType::kI8:
    case DType::kU8: return;  // no weights have these
  }
}

#undef FIRN_ONE

}  // namespace
}  // namespace firn::npu
