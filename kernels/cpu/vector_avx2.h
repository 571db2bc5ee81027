// The 16-lane vector of the kernel texts on AVX2, FMA and F16C, as two halves of 8 lanes; vector_portable.h says what
// each function means. Included by one translation unit only; everything has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/text_macros.h"

namespace firn::cpu {
namespace {

// 16 registers of half a vector each.
constexpr int kTilePanels = 1;
constexpr int kTileTokens1 = 2;
constexpr int kTileTokens2 = 1;
constexpr int kFloatPanels = 4;
constexpr int kFloatTokens = 4;
constexpr int kAttentionRows = 2;

struct F32 {
  __m256 a, b;
};
struct I32 {
  __m256i a, b;
};
struct Bytes {
  __m256i a, b;
};
/// The four codes as bytes, and the even and odd ones as pairs of 16-bit integers.
struct Quad {
  __m256i bytes, even, odd;
};

FIRN_INLINE F32 splat(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
FIRN_INLINE I32 splatInt(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
FIRN_INLINE F32 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
FIRN_INLINE void store(float* p, F32 x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
FIRN_INLINE F32 loadN(const float* p, size_t n) {
  if (n == 16) return load(p);
  float lanes[16] = {};
  __builtin_memcpy(lanes, p, n * sizeof(float));
  return load(lanes);
}
FIRN_INLINE void storeN(float* p, F32 x, size_t n) {
  if (n == 16) return store(p, x);
  float lanes[16];
  store(lanes, x);
  __builtin_memcpy(p, lanes, n * sizeof(float));
}
FIRN_INLINE I32 loadInt(const int32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
}
FIRN_INLINE F32 loadF16(const uint16_t* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
          _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
}
FIRN_INLINE F32 loadF16N(const uint16_t* p, size_t n) {
  if (n == 16) return loadF16(p);
  uint16_t lanes[16] = {};
  __builtin_memcpy(lanes, p, n * sizeof(uint16_t));
  return loadF16(lanes);
}
FIRN_INLINE F32 loadU8(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)),
          _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)))};
}
FIRN_INLINE F32 loadI8(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}
FIRN_INLINE F32 loadBf16(const uint16_t* p) {
  const __m256i a = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  const __m256i b = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(a, 16)), _mm256_castsi256_ps(_mm256_slli_epi32(b, 16))};
}
FIRN_INLINE void storeF16N(uint16_t* p, F32 x, size_t n) {
  uint16_t lanes[16];
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(lanes), _mm256_cvtps_ph(x.a, kNearest));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(lanes + 8), _mm256_cvtps_ph(x.b, kNearest));
  __builtin_memcpy(p, lanes, n * sizeof(uint16_t));
}
/// Even and odd elements of 16.
FIRN_INLINE void splitPairs(const float* p, __m256& even, __m256& odd) {
  const __m256 low = _mm256_loadu_ps(p);
  const __m256 high = _mm256_loadu_ps(p + 8);
  const __m256 x = _mm256_permute2f128_ps(low, high, 0x20);
  const __m256 y = _mm256_permute2f128_ps(low, high, 0x31);
  even = _mm256_shuffle_ps(x, y, 0x88);
  odd = _mm256_shuffle_ps(x, y, 0xDD);
}
FIRN_INLINE void loadPairs(const float* p, F32& even, F32& odd) {
  splitPairs(p, even.a, odd.a);
  splitPairs(p + 16, even.b, odd.b);
}
/// The inverse of splitPairs.
FIRN_INLINE void joinPairs(float* p, __m256 even, __m256 odd) {
  const __m256 low = _mm256_unpacklo_ps(even, odd);
  const __m256 high = _mm256_unpackhi_ps(even, odd);
  _mm256_storeu_ps(p, _mm256_permute2f128_ps(low, high, 0x20));
  _mm256_storeu_ps(p + 8, _mm256_permute2f128_ps(low, high, 0x31));
}
FIRN_INLINE void storePairs(float* p, F32 even, F32 odd) {
  joinPairs(p, even.a, odd.a);
  joinPairs(p + 16, even.b, odd.b);
}
FIRN_INLINE void storeCodes(int8_t* p, I32 x) {
  // Packing works within 128-bit halves: 16-bit lanes come out as a0 b0 a1 b1 and are put back in order.
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.a, x.b), 0xD8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}

FIRN_INLINE F32 add(F32 x, F32 y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
FIRN_INLINE F32 sub(F32 x, F32 y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
FIRN_INLINE F32 mul(F32 x, F32 y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
FIRN_INLINE F32 div(F32 x, F32 y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
FIRN_INLINE F32 negate(F32 x) {
  const __m256 sign = _mm256_set1_ps(-0.0F);
  return {_mm256_xor_ps(x.a, sign), _mm256_xor_ps(x.b, sign)};
}
FIRN_INLINE F32 fma(F32 x, F32 y, F32 z) { return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)}; }
FIRN_INLINE F32 ifLess(F32 x, F32 y, F32 yes, F32 no) {
  return {_mm256_blendv_ps(no.a, yes.a, _mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ)),
          _mm256_blendv_ps(no.b, yes.b, _mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ))};
}
FIRN_INLINE F32 ifLessInt(I32 x, I32 y, F32 yes, F32 no) {
  return {_mm256_blendv_ps(no.a, yes.a, _mm256_castsi256_ps(_mm256_cmpgt_epi32(y.a, x.a))),
          _mm256_blendv_ps(no.b, yes.b, _mm256_castsi256_ps(_mm256_cmpgt_epi32(y.b, x.b)))};
}
FIRN_INLINE F32 ifNan(F32 x, F32 yes, F32 no) {
  return {_mm256_blendv_ps(no.a, yes.a, _mm256_cmp_ps(x.a, x.a, _CMP_UNORD_Q)),
          _mm256_blendv_ps(no.b, yes.b, _mm256_cmp_ps(x.b, x.b, _CMP_UNORD_Q))};
}
FIRN_INLINE uint32_t lanesAtLeast(F32 x, F32 y) {
  const auto half = [](__m256 a, __m256 b) {
    return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GE_OQ)));
  };
  return half(x.a, y.a) | half(x.b, y.b) << 8;
}

FIRN_INLINE I32 addInt(I32 x, I32 y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
FIRN_INLINE I32 subInt(I32 x, I32 y) { return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)}; }
FIRN_INLINE I32 maxInt(I32 x, I32 y) { return {_mm256_max_epi32(x.a, y.a), _mm256_max_epi32(x.b, y.b)}; }
template <int kBits>
FIRN_INLINE I32 shiftLeft(I32 x) {
  return {_mm256_slli_epi32(x.a, kBits), _mm256_slli_epi32(x.b, kBits)};
}
template <int kBits>
FIRN_INLINE I32 shiftRight(I32 x) {
  return {_mm256_srai_epi32(x.a, kBits), _mm256_srai_epi32(x.b, kBits)};
}
FIRN_INLINE F32 toFloat(I32 x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
FIRN_INLINE I32 roundToInt(F32 x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
FIRN_INLINE I32 magnitudeBits(F32 x) {
  const __m256i mask = _mm256_set1_epi32(0x7FFFFFFF);
  return {_mm256_and_si256(_mm256_castps_si256(x.a), mask), _mm256_and_si256(_mm256_castps_si256(x.b), mask)};
}
FIRN_INLINE F32 powerOfTwo(I32 n) {
  const I32 bits = shiftLeft<23>(addInt(n, splatInt(127)));
  return {_mm256_castsi256_ps(bits.a), _mm256_castsi256_ps(bits.b)};
}

FIRN_INLINE float sum(F32 x) {
  const __m256 by8 = _mm256_add_ps(x.a, x.b);
  const __m128 by4 = _mm_add_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_add_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_add_ss(by2, _mm_movehdup_ps(by2)));
}
/// The tree of sum() on 8 vectors at once; each step adds the same pairs of lanes and halves the number of vectors.
FIRN_INLINE __m256 sumEight(const F32* x) {
  __m256 by4[4];  // halves of vectors i and i + 4
  for (int i = 0; i < 4; ++i) {
    const __m256 first = _mm256_add_ps(x[i].a, x[i].b);
    const __m256 second = _mm256_add_ps(x[i + 4].a, x[i + 4].b);
    by4[i] = _mm256_add_ps(_mm256_permute2f128_ps(first, second, 0x20), _mm256_permute2f128_ps(first, second, 0x31));
  }
  __m256 by2[2];
  for (int i = 0; i < 2; ++i) {
    by2[i] = _mm256_add_ps(_mm256_shuffle_ps(by4[i], by4[i + 2], 0x44), _mm256_shuffle_ps(by4[i], by4[i + 2], 0xEE));
  }
  const __m256 even = _mm256_shuffle_ps(by2[0], by2[1], 0x88);
  const __m256 odd = _mm256_shuffle_ps(by2[0], by2[1], 0xDD);
  return _mm256_permute_ps(_mm256_add_ps(even, odd), 0xD8);  // vectors came in the order 0 2 1 3 | 4 6 5 7
}
FIRN_INLINE F32 sumEach(const F32 (&x)[16]) { return {sumEight(x), sumEight(x + 8)}; }
FIRN_INLINE float maximum(F32 x) {
  const __m256 by8 = _mm256_max_ps(x.a, x.b);
  const __m128 by4 = _mm_max_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_max_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_max_ss(by2, _mm_movehdup_ps(by2)));
}
FIRN_INLINE int32_t maximumInt(I32 x) {
  const __m256i by8 = _mm256_max_epi32(x.a, x.b);
  const __m128i by4 = _mm_max_epi32(_mm256_castsi256_si128(by8), _mm256_extracti128_si256(by8, 1));
  const __m128i by2 = _mm_max_epi32(by4, _mm_shuffle_epi32(by4, 0x4E));
  return _mm_cvtsi128_si32(_mm_max_epi32(by2, _mm_shuffle_epi32(by2, 0xB1)));
}
FIRN_INLINE int32_t sumInt(I32 x) {
  const __m256i by8 = _mm256_add_epi32(x.a, x.b);
  const __m128i by4 = _mm_add_epi32(_mm256_castsi256_si128(by8), _mm256_extracti128_si256(by8, 1));
  const __m128i by2 = _mm_add_epi32(by4, _mm_shuffle_epi32(by4, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(by2, _mm_shuffle_epi32(by2, 0xB1)));
}

FIRN_INLINE Bytes loadBytes(const uint8_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
}
FIRN_INLINE void storeBytes(uint8_t* p, Bytes x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.a);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 32), x.b);
}
FIRN_INLINE Bytes lowNibbles(Bytes x) {
  const __m256i mask = _mm256_set1_epi8(15);
  return {_mm256_and_si256(x.a, mask), _mm256_and_si256(x.b, mask)};
}
FIRN_INLINE Bytes highNibbles(Bytes x) { return lowNibbles({_mm256_srli_epi16(x.a, 4), _mm256_srli_epi16(x.b, 4)}); }
FIRN_INLINE Bytes splatBytes(uint8_t x) {
  const __m256i all = _mm256_set1_epi8(static_cast<char>(x));
  return {all, all};
}
FIRN_INLINE Bytes orBytes(Bytes x, Bytes y) { return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)}; }
/// Shifts pairs of bytes: what comes from the other byte is masked off. `first` is known once loops are unrolled.
FIRN_INLINE Bytes bitsToFour(Bytes x, int first, int count) {
  const __m256i mask = _mm256_set1_epi8(static_cast<char>(((1 << count) - 1) << 4));
  if (first >= 4)
    return {_mm256_and_si256(_mm256_srli_epi16(x.a, first - 4), mask),
            _mm256_and_si256(_mm256_srli_epi16(x.b, first - 4), mask)};
  return {_mm256_and_si256(_mm256_slli_epi16(x.a, 4 - first), mask),
          _mm256_and_si256(_mm256_slli_epi16(x.b, 4 - first), mask)};
}
FIRN_INLINE Quad loadQuad(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  const __m256i bytes = _mm256_set1_epi32(four);
  return {bytes, _mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8), _mm256_srai_epi16(bytes, 8)};
}
template <bool kSmallCodes>
FIRN_INLINE __m256i dotHalf(__m256i acc, __m256i w, const Quad& x) {
  if constexpr (kSmallCodes) {
    // At most 2 * 63 * 128 in 16 bits: maddubs does not saturate.
    const __m256i pairs = _mm256_maddubs_epi16(w, x.bytes);
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  } else {
    // It would with codes up to 255, so even and odd columns are widened to 16 bits and multiplied exactly.
    const __m256i even = _mm256_madd_epi16(_mm256_and_si256(w, _mm256_set1_epi16(255)), x.even);
    const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(w, 8), x.odd);
    return _mm256_add_epi32(acc, _mm256_add_epi32(even, odd));
  }
}
template <bool kSmallCodes>
FIRN_INLINE I32 dot(I32 acc, Bytes w, const Quad& x) {
  return {dotHalf<kSmallCodes>(acc.a, w.a, x), dotHalf<kSmallCodes>(acc.b, w.b, x)};
}

}  // namespace
}  // namespace firn::cpu
