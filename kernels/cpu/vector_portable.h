// The 16-lane vector of the kernel texts, in plain C++. The meaning of every function here is the contract for the
// other instruction sets: same bits for the same lanes. Included by one translation unit only; everything has internal
// linkage, so that no code compiled for a wider instruction set can be linked into another (also why the kernel texts
// use no std templates).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "kernels/cpu/text_macros.h"

namespace firn::cpu {
namespace {

/// How much the matrix kernels keep in registers (docs/arithmetic.md: no influence on results).
constexpr int kTilePanels = 1;     ///< panels of a matrix-matrix tile
constexpr int kTileTokens1 = 2;    ///< rows of a tile with one activation plane
constexpr int kTileTokens2 = 2;    ///< the same with two
constexpr int kFloatPanels = 1;    ///< panels of a float matrix-vector loop
constexpr int kFloatTokens = 2;    ///< rows of a float tile
constexpr int kAttentionRows = 2;  ///< query vectors that share one pass over V

struct F32 {
  float lane[16];
};
struct I32 {
  int32_t lane[16];
};
/// 64 unsigned weight codes: 16 rows of 4 columns.
struct Bytes {
  uint8_t byte[64];
};
/// Four activation codes, the same for all lanes.
struct Quad {
  int8_t byte[4];
};

FIRN_INLINE F32 splat(float x) {
  F32 r;
  for (float& lane : r.lane) lane = x;
  return r;
}
FIRN_INLINE I32 splatInt(int32_t x) {
  I32 r;
  for (int32_t& lane : r.lane) lane = x;
  return r;
}
/// f16ToF32 and f32ToF16 (base/dtype.h), with selections where those have branches: loops over lanes become vectors.
FIRN_INLINE float widen(uint16_t half) {
  const uint32_t magnitude = half & 0x7FFFU;
  const float tiny = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24F;  // below 2^-14
  uint32_t tinyBits;
  __builtin_memcpy(&tinyBits, &tiny, sizeof tinyBits);
  const uint32_t normalBits = (magnitude << 13) + (112U << 23);
  const uint32_t specialBits = (magnitude << 13) | 0x7F800000U;  // Inf and NaN
  uint32_t number = magnitude < 0x400U ? tinyBits : magnitude < 0x7C00U ? normalBits : specialBits;
  number |= (half & 0x8000U) << 16;
  float value;
  __builtin_memcpy(&value, &number, sizeof value);
  return value;
}
FIRN_INLINE uint16_t narrow(float value) {
  uint32_t number;
  __builtin_memcpy(&number, &value, sizeof number);
  const uint32_t magnitude = number & 0x7FFFFFFFU;
  float shifted;
  __builtin_memcpy(&shifted, &magnitude, sizeof shifted);
  shifted += 0.5F;  // below 2^-14: rounds to multiples of 2^-24
  uint32_t tiny;
  __builtin_memcpy(&tiny, &shifted, sizeof tiny);
  tiny -= 0x3F000000U;
  const uint32_t normal = (magnitude - 0x38000000U + 0xFFFU + ((magnitude >> 13) & 1U)) >> 13;
  const uint32_t nan = 0x7E00U | ((magnitude >> 13) & 0x3FFU);
  const uint32_t large = magnitude > 0x7F800000U ? nan : 0x7C00U;
  const uint32_t finite = magnitude < 0x38800000U ? tiny : normal;
  const uint32_t half = magnitude < 0x477FF000U ? finite : large;
  return static_cast<uint16_t>(half | ((number >> 16) & 0x8000U));
}
/// The first n of 16 lanes from memory, the rest 0. No element beyond n is touched.
FIRN_INLINE F32 loadN(const float* p, size_t n) {
  F32 r = splat(0);
  for (size_t i = 0; i < n; ++i) r.lane[i] = p[i];
  return r;
}
FIRN_INLINE F32 load(const float* p) { return loadN(p, 16); }
FIRN_INLINE void storeN(float* p, F32 x, size_t n) {
  for (size_t i = 0; i < n; ++i) p[i] = x.lane[i];
}
FIRN_INLINE void store(float* p, F32 x) { storeN(p, x, 16); }
FIRN_INLINE I32 loadInt(const int32_t* p) {
  I32 r;
  for (int i = 0; i < 16; ++i) r.lane[i] = p[i];
  return r;
}
FIRN_INLINE F32 loadF16N(const uint16_t* p, size_t n) {
  F32 r = splat(0);
  for (size_t i = 0; i < n; ++i) r.lane[i] = widen(p[i]);
  return r;
}
FIRN_INLINE F32 loadF16(const uint16_t* p) { return loadF16N(p, 16); }
/// 16 bytes as numbers, unsigned or signed.
FIRN_INLINE F32 loadU8(const uint8_t* p) {
  F32 r;
  for (int i = 0; i < 16; ++i) r.lane[i] = static_cast<float>(p[i]);
  return r;
}
FIRN_INLINE F32 loadI8(const uint8_t* p) {
  F32 r;
  for (int i = 0; i < 16; ++i) r.lane[i] = static_cast<float>(static_cast<int8_t>(p[i]));
  return r;
}
FIRN_INLINE F32 loadBf16(const uint16_t* p) {
  F32 r;
  for (int i = 0; i < 16; ++i) r.lane[i] = bf16ToF32(p[i]);
  return r;
}
FIRN_INLINE void storeF16N(uint16_t* p, F32 x, size_t n) {
  for (size_t i = 0; i < n; ++i) p[i] = narrow(x.lane[i]);
}
/// p[0], p[2], .. and p[1], p[3], .. of 32 elements.
FIRN_INLINE void loadPairs(const float* p, F32& even, F32& odd) {
  for (int i = 0; i < 16; ++i) {
    even.lane[i] = p[2 * i];
    odd.lane[i] = p[2 * i + 1];
  }
}
FIRN_INLINE void storePairs(float* p, F32 even, F32 odd) {
  for (int i = 0; i < 16; ++i) {
    p[2 * i] = even.lane[i];
    p[2 * i + 1] = odd.lane[i];
  }
}
/// The low byte of each lane; lanes are in -128 .. 127.
FIRN_INLINE void storeCodes(int8_t* p, I32 x) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(x.lane[i]);
}

#define FIRN_LANES(Type, expression)                   \
  Type r;                                              \
  for (int i = 0; i < 16; ++i) r.lane[i] = expression; \
  return r

FIRN_INLINE F32 add(F32 a, F32 b) { FIRN_LANES(F32, a.lane[i] + b.lane[i]); }
FIRN_INLINE F32 sub(F32 a, F32 b) { FIRN_LANES(F32, a.lane[i] - b.lane[i]); }
FIRN_INLINE F32 mul(F32 a, F32 b) { FIRN_LANES(F32, a.lane[i] * b.lane[i]); }
FIRN_INLINE F32 div(F32 a, F32 b) { FIRN_LANES(F32, a.lane[i] / b.lane[i]); }
FIRN_INLINE F32 negate(F32 a) { FIRN_LANES(F32, -a.lane[i]); }
/// a * b + c, rounded once.
FIRN_INLINE F32 fma(F32 a, F32 b, F32 c) { FIRN_LANES(F32, __builtin_fmaf(a.lane[i], b.lane[i], c.lane[i])); }
/// a < b ? yes : no, lane by lane; NaN is never less.
FIRN_INLINE F32 ifLess(F32 a, F32 b, F32 yes, F32 no) {
  FIRN_LANES(F32, a.lane[i] < b.lane[i] ? yes.lane[i] : no.lane[i]);
}
FIRN_INLINE F32 ifLessInt(I32 a, I32 b, F32 yes, F32 no) {
  FIRN_LANES(F32, a.lane[i] < b.lane[i] ? yes.lane[i] : no.lane[i]);
}
FIRN_INLINE F32 ifNan(F32 a, F32 yes, F32 no) { FIRN_LANES(F32, a.lane[i] != a.lane[i] ? yes.lane[i] : no.lane[i]); }

/// Bit i is set where a >= b in lane i; NaN never is.
FIRN_INLINE uint32_t lanesAtLeast(F32 a, F32 b) {
  uint32_t lanes = 0;
  for (int i = 0; i < 16; ++i) lanes |= a.lane[i] >= b.lane[i] ? 1U << i : 0U;
  return lanes;
}

/// Modulo 2^32, as every sum of integers: they may come from a blob, which is held to shapes and not to values.
FIRN_INLINE int32_t wrap(uint32_t x) { return static_cast<int32_t>(x); }
FIRN_INLINE uint32_t bits(int32_t x) { return static_cast<uint32_t>(x); }
FIRN_INLINE I32 addInt(I32 a, I32 b) { FIRN_LANES(I32, wrap(bits(a.lane[i]) + bits(b.lane[i]))); }
FIRN_INLINE I32 subInt(I32 a, I32 b) { FIRN_LANES(I32, wrap(bits(a.lane[i]) - bits(b.lane[i]))); }
FIRN_INLINE I32 maxInt(I32 a, I32 b) { FIRN_LANES(I32, a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]); }
template <int kBits>
FIRN_INLINE I32 shiftLeft(I32 a) {
  FIRN_LANES(I32, wrap(bits(a.lane[i]) << kBits));
}
/// Rounds toward minus infinity.
template <int kBits>
FIRN_INLINE I32 shiftRight(I32 a) {
  FIRN_LANES(I32, a.lane[i] >> kBits);
}
/// Nearest float, ties to even.
FIRN_INLINE F32 toFloat(I32 a) { FIRN_LANES(F32, static_cast<float>(a.lane[i])); }
/// Nearest integer, ties to even; lanes are below 2^22 in magnitude. Adding 1.5 * 2^23 leaves no fraction bits.
FIRN_INLINE I32 roundToInt(F32 a) { FIRN_LANES(I32, static_cast<int32_t>((a.lane[i] + 0x1.8p23F) - 0x1.8p23F)); }
/// The bits of |a|: ordered as integers like the magnitudes, Inf and then NaN above all numbers.
FIRN_INLINE I32 magnitudeBits(F32 a) {
  I32 r;
  __builtin_memcpy(&r, &a, sizeof r);
  for (int32_t& lane : r.lane) lane &= 0x7FFFFFFF;
  return r;
}
/// 2^n for n in -126 .. 127.
FIRN_INLINE F32 powerOfTwo(I32 n) {
  for (int32_t& lane : n.lane) lane = (lane + 127) << 23;
  F32 r;
  __builtin_memcpy(&r, &n, sizeof r);
  return r;
}

/// The fixed tree of every sum: lanes 8 apart, then 4, 2, 1.
FIRN_INLINE float sum(F32 a) {
  for (int step = 8; step > 0; step /= 2) {
    for (int i = 0; i < step; ++i) a.lane[i] += a.lane[i + step];
  }
  return a.lane[0];
}
/// Lane i is sum(a[i]).
FIRN_INLINE F32 sumEach(const F32 (&a)[16]) { FIRN_LANES(F32, sum(a[i])); }
/// The largest lane, NaN lanes ignored unless they hide one (only for results that are NaN anyway).
FIRN_INLINE float maximum(F32 a) {
  float r = a.lane[0];
  for (float lane : a.lane) r = lane > r ? lane : r;
  return r;
}
FIRN_INLINE int32_t maximumInt(I32 a) {
  int32_t r = a.lane[0];
  for (int32_t lane : a.lane) r = lane > r ? lane : r;
  return r;
}
FIRN_INLINE int32_t sumInt(I32 a) {
  uint32_t r = 0;
  for (int32_t lane : a.lane) r += bits(lane);
  return wrap(r);
}

FIRN_INLINE Bytes loadBytes(const uint8_t* p) {
  Bytes r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
FIRN_INLINE void storeBytes(uint8_t* p, Bytes x) { __builtin_memcpy(p, &x, sizeof x); }
FIRN_INLINE Bytes lowNibbles(Bytes x) {
  for (uint8_t& byte : x.byte) byte &= 15;
  return x;
}
FIRN_INLINE Bytes highNibbles(Bytes x) {
  for (uint8_t& byte : x.byte) byte >>= 4;
  return x;
}
FIRN_INLINE Bytes splatBytes(uint8_t x) {
  Bytes r;
  for (uint8_t& byte : r.byte) byte = x;
  return r;
}
FIRN_INLINE Bytes orBytes(Bytes x, Bytes y) {
  for (int i = 0; i < 64; ++i) x.byte[i] |= y.byte[i];
  return x;
}
/// `count` bits of each byte from bit `first` on, moved to bit 4; first + count is at most 8.
FIRN_INLINE Bytes bitsToFour(Bytes x, int first, int count) {
  for (uint8_t& byte : x.byte) byte = static_cast<uint8_t>((byte >> first & ((1 << count) - 1)) << 4);
  return x;
}
FIRN_INLINE Quad loadQuad(const int8_t* p) {
  Quad r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
/// acc[row] + sum over b of w[4 * row + b] * x[b], exact modulo 2^32. kSmallCodes promises codes of at most 63.
template <bool kSmallCodes>
FIRN_INLINE I32 dot(I32 acc, Bytes w, Quad x) {
  for (int row = 0; row < 16; ++row) {
    uint32_t total = bits(acc.lane[row]);
    for (int b = 0; b < 4; ++b) total += bits(int32_t{w.byte[4 * row + b]} * x.byte[b]);
    acc.lane[row] = wrap(total);
  }
  return acc;
}

#undef FIRN_LANES

}  // namespace
}  // namespace firn::cpu
