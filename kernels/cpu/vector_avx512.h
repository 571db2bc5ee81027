// The 16-lane vector of the kernel texts on AVX-512 F, BW, DQ, VL and VNNI; vector_portable.h says what each function
// means. Included by one translation unit only; everything has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/text_macros.h"

namespace firn::cpu {
namespace {

#ifdef FIRN_KERNELS_SMALL
constexpr int kTilePanels = 2;
constexpr int kTileTokens1 = 2;
constexpr int kTileTokens2 = 2;
constexpr int kFloatPanels = 2;
constexpr int kFloatTokens = 2;
constexpr int kAttentionRows = 2;
#else
constexpr int kTilePanels = 2;
constexpr int kTileTokens1 = 6;  // 12 float and 12 integer accumulators, 2 weights, the rest operands
constexpr int kTileTokens2 = 4;  // 8 float and 16 integer accumulators
constexpr int kFloatPanels = 8;
constexpr int kFloatTokens = 6;
constexpr int kAttentionRows = 4;
#endif

struct F32 {
  __m512 v;
};
struct I32 {
  __m512i v;
};
struct Bytes {
  __m512i v;
};
struct Quad {
  __m512i v;
};

FIRN_INLINE __mmask16 firstLanes(size_t n) { return static_cast<__mmask16>((1U << n) - 1U); }

FIRN_INLINE F32 splat(float x) { return {_mm512_set1_ps(x)}; }
FIRN_INLINE I32 splatInt(int32_t x) { return {_mm512_set1_epi32(x)}; }
FIRN_INLINE F32 loadN(const float* p, size_t n) { return {_mm512_maskz_loadu_ps(firstLanes(n), p)}; }
FIRN_INLINE F32 load(const float* p) { return {_mm512_loadu_ps(p)}; }
FIRN_INLINE void storeN(float* p, F32 x, size_t n) { _mm512_mask_storeu_ps(p, firstLanes(n), x.v); }
FIRN_INLINE void store(float* p, F32 x) { _mm512_storeu_ps(p, x.v); }
FIRN_INLINE I32 loadInt(const int32_t* p) { return {_mm512_loadu_si512(p)}; }
FIRN_INLINE F32 loadF16N(const uint16_t* p, size_t n) {
  return {_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(firstLanes(n), p))};
}
FIRN_INLINE F32 loadF16(const uint16_t* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
FIRN_INLINE F32 loadU8(const uint8_t* p) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))))};
}
FIRN_INLINE F32 loadI8(const uint8_t* p) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))))};
}
FIRN_INLINE F32 loadBf16(const uint16_t* p) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}
FIRN_INLINE void storeF16N(uint16_t* p, F32 x, size_t n) {
  const __m256i halves = _mm512_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  _mm256_mask_storeu_epi16(p, firstLanes(n), halves);
}
FIRN_INLINE void loadPairs(const float* p, F32& even, F32& odd) {
  const __m512i evens = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odds = _mm512_add_epi32(evens, _mm512_set1_epi32(1));
  const __m512 low = _mm512_loadu_ps(p);
  const __m512 high = _mm512_loadu_ps(p + 16);
  even.v = _mm512_permutex2var_ps(low, evens, high);
  odd.v = _mm512_permutex2var_ps(low, odds, high);
}
FIRN_INLINE void storePairs(float* p, F32 even, F32 odd) {
  const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  _mm512_storeu_ps(p, _mm512_permutex2var_ps(even.v, low, odd.v));
  _mm512_storeu_ps(p + 16, _mm512_permutex2var_ps(even.v, high, odd.v));
}
FIRN_INLINE void storeCodes(int8_t* p, I32 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x.v));
}

FIRN_INLINE F32 add(F32 a, F32 b) { return {_mm512_add_ps(a.v, b.v)}; }
FIRN_INLINE F32 sub(F32 a, F32 b) { return {_mm512_sub_ps(a.v, b.v)}; }
FIRN_INLINE F32 mul(F32 a, F32 b) { return {_mm512_mul_ps(a.v, b.v)}; }
FIRN_INLINE F32 div(F32 a, F32 b) { return {_mm512_div_ps(a.v, b.v)}; }
FIRN_INLINE F32 negate(F32 a) { return {_mm512_xor_ps(a.v, _mm512_set1_ps(-0.0F))}; }
FIRN_INLINE F32 fma(F32 a, F32 b, F32 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
FIRN_INLINE F32 ifLess(F32 a, F32 b, F32 yes, F32 no) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), no.v, yes.v)};
}
FIRN_INLINE F32 ifLessInt(I32 a, I32 b, F32 yes, F32 no) {
  return {_mm512_mask_blend_ps(_mm512_cmplt_epi32_mask(a.v, b.v), no.v, yes.v)};
}
FIRN_INLINE F32 ifNan(F32 a, F32 yes, F32 no) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q), no.v, yes.v)};
}
FIRN_INLINE uint32_t lanesAtLeast(F32 a, F32 b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_GE_OQ); }

FIRN_INLINE I32 addInt(I32 a, I32 b) { return {_mm512_add_epi32(a.v, b.v)}; }
FIRN_INLINE I32 subInt(I32 a, I32 b) { return {_mm512_sub_epi32(a.v, b.v)}; }
FIRN_INLINE I32 maxInt(I32 a, I32 b) { return {_mm512_max_epi32(a.v, b.v)}; }
template <int kBits>
FIRN_INLINE I32 shiftLeft(I32 a) {
  return {_mm512_slli_epi32(a.v, kBits)};
}
template <int kBits>
FIRN_INLINE I32 shiftRight(I32 a) {
  return {_mm512_srai_epi32(a.v, kBits)};
}
FIRN_INLINE F32 toFloat(I32 a) { return {_mm512_cvtepi32_ps(a.v)}; }
FIRN_INLINE I32 roundToInt(F32 a) { return {_mm512_cvtps_epi32(a.v)}; }
FIRN_INLINE I32 magnitudeBits(F32 a) {
  return {_mm512_and_si512(_mm512_castps_si512(a.v), _mm512_set1_epi32(0x7FFFFFFF))};
}
FIRN_INLINE F32 powerOfTwo(I32 n) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n.v, _mm512_set1_epi32(127)), 23))};
}

FIRN_INLINE float sum(F32 a) {
  const __m256 by8 = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 by4 = _mm_add_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
  const __m128 by2 = _mm_add_ps(by4, _mm_movehl_ps(by4, by4));
  return _mm_cvtss_f32(_mm_add_ss(by2, _mm_movehdup_ps(by2)));
}
/// The tree of sum() on 16 vectors at once: each step adds the same pairs of lanes and halves the number of vectors.
FIRN_INLINE F32 sumEach(const F32 (&a)[16]) {
  __m512 by8[8];  // 128-bit blocks {a[i] low, a[i] high, a[i + 8] low, a[i + 8] high}, each a sum of lanes 8 apart
  for (int i = 0; i < 8; ++i) {
    const __m512 low = _mm512_shuffle_f32x4(a[i].v, a[i + 8].v, 0x44);
    const __m512 high = _mm512_shuffle_f32x4(a[i].v, a[i + 8].v, 0xEE);
    by8[i] = _mm512_add_ps(low, high);
  }
  __m512 by4[4];  // blocks of a[i], a[i + 8], a[i + 4], a[i + 12]
  for (int i = 0; i < 4; ++i) {
    const __m512 low = _mm512_shuffle_f32x4(by8[i], by8[i + 4], 0x88);
    const __m512 high = _mm512_shuffle_f32x4(by8[i], by8[i + 4], 0xDD);
    by4[i] = _mm512_add_ps(low, high);
  }
  __m512 by2[2];  // each block: 2 lanes of vector i, 2 of vector i + 2
  for (int i = 0; i < 2; ++i) {
    const __m512 low = _mm512_shuffle_ps(by4[i], by4[i + 2], 0x44);
    const __m512 high = _mm512_shuffle_ps(by4[i], by4[i + 2], 0xEE);
    by2[i] = _mm512_add_ps(low, high);
  }
  const __m512 even = _mm512_shuffle_ps(by2[0], by2[1], 0x88);
  const __m512 odd = _mm512_shuffle_ps(by2[0], by2[1], 0xDD);
  // Lane 4 * block + j holds vector order[block] + {0, 2, 1, 3}[j] with order {0, 8, 4, 12}.
  const __m512i back = _mm512_set_epi32(15, 13, 14, 12, 7, 5, 6, 4, 11, 9, 10, 8, 3, 1, 2, 0);
  return {_mm512_permutexvar_ps(back, _mm512_add_ps(even, odd))};
}
FIRN_INLINE float maximum(F32 a) { return _mm512_reduce_max_ps(a.v); }
FIRN_INLINE int32_t maximumInt(I32 a) { return _mm512_reduce_max_epi32(a.v); }
FIRN_INLINE int32_t sumInt(I32 a) { return _mm512_reduce_add_epi32(a.v); }

FIRN_INLINE Bytes loadBytes(const uint8_t* p) { return {_mm512_loadu_si512(p)}; }
FIRN_INLINE void storeBytes(uint8_t* p, Bytes x) { _mm512_storeu_si512(p, x.v); }
FIRN_INLINE Bytes lowNibbles(Bytes x) { return {_mm512_and_si512(x.v, _mm512_set1_epi8(15))}; }
FIRN_INLINE Bytes highNibbles(Bytes x) { return {_mm512_and_si512(_mm512_srli_epi16(x.v, 4), _mm512_set1_epi8(15))}; }
FIRN_INLINE Bytes splatBytes(uint8_t x) { return {_mm512_set1_epi8(static_cast<char>(x))}; }
FIRN_INLINE Bytes orBytes(Bytes x, Bytes y) { return {_mm512_or_si512(x.v, y.v)}; }
/// Shifts pairs of bytes: what comes from the other byte is masked off. `first` is known once loops are unrolled.
FIRN_INLINE Bytes bitsToFour(Bytes x, int first, int count) {
  const __m512i mask = _mm512_set1_epi8(static_cast<char>(((1 << count) - 1) << 4));
  if (first >= 4) return {_mm512_and_si512(_mm512_srli_epi16(x.v, static_cast<unsigned>(first - 4)), mask)};
  return {_mm512_and_si512(_mm512_slli_epi16(x.v, static_cast<unsigned>(4 - first)), mask)};
}
FIRN_INLINE Quad loadQuad(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  return {_mm512_set1_epi32(four)};
}
template <bool kSmallCodes>
FIRN_INLINE I32 dot(I32 acc, Bytes w, Quad x) {
  return {_mm512_dpbusd_epi32(acc.v, w.v, x.v)};
}

}  // namespace
}  // namespace firn::cpu
