#include "bench/machine_limits.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/memory_read.h"

namespace firn::bench {
namespace {

constexpr int kChains = 12;
constexpr int kSteps = 400000;

/// Keeps the results of a measured loop alive.
volatile uint64_t sink;

#ifdef __x86_64__

__attribute__((target("avx512f,avx512vnni"))) void dots512() {
  __m512i acc[kChains] = {};
  __m512i x = _mm512_set1_epi8(3);
  for (int step = 0; step < kSteps; ++step) {
    for (__m512i& a : acc) a = _mm512_dpbusd_epi32(a, x, x);
    asm volatile("" : "+v"(x));
  }
  for (const __m512i& a : acc) sink = sink + static_cast<uint64_t>(_mm512_reduce_add_epi32(a));
}

__attribute__((target("avx2"))) void dots256() {
  __m256i acc[kChains] = {};
  __m256i x = _mm256_set1_epi8(3);
  const __m256i ones = _mm256_set1_epi16(1);
  for (int step = 0; step < kSteps; ++step) {
    for (__m256i& a : acc) a = _mm256_add_epi32(a, _mm256_madd_epi16(_mm256_maddubs_epi16(x, x), ones));
    asm volatile("" : "+x"(x));
  }
  for (const __m256i& a : acc) sink = sink + static_cast<uint64_t>(_mm256_extract_epi32(a, 0));
}

bool hasVnni() { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vnni"); }

#endif

void dotsPlain() {
  int32_t acc[64] = {};
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < 64; ++i) acc[i] += (step & 7) * (i & 15);
  }
  for (const int32_t a : acc) sink = sink + static_cast<uint64_t>(a);
}

}  // namespace

ReadBuffer::ReadBuffer(size_t bytesPerThread, int threads) : words_(bytesPerThread / 8) {
  for (int t = 0; t < threads; ++t) {
    data_.push_back(std::make_unique<uint64_t[]>(words_));
    for (size_t i = 0; i < words_; ++i) data_.back()[i] = i;
  }
}

void ReadBuffer::read(int t) const { sink = readMemory(data_[static_cast<size_t>(t)].get(), words_); }

void runInt8Peak() {
#ifdef __x86_64__
  if (hasVnni()) return dots512();
  if (__builtin_cpu_supports("avx2")) return dots256();
#endif
  dotsPlain();
}

double int8PeakOperations() {
#ifdef __x86_64__
  if (hasVnni()) return 2.0 * 64 * kChains * kSteps;
  if (__builtin_cpu_supports("avx2")) return 2.0 * 32 * kChains * kSteps;
#endif
  return 2.0 * 64 * kSteps;
}

}  // namespace firn::bench
