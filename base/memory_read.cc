#include "base/memory_read.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace firn {
namespace {

constexpr size_t kStreams = 4;
constexpr size_t kLineWords = 8;

#ifdef __x86_64__
__attribute__((target("avx512f"))) uint64_t readWide(const uint64_t* words, size_t part) {
  __m512i sums[kStreams] = {};
  for (size_t i = 0; i + kLineWords <= part; i += kLineWords) {
    for (size_t stream = 0; stream < kStreams; ++stream) {
      sums[stream] = _mm512_xor_si512(sums[stream], _mm512_loadu_si512(words + stream * part + i));
    }
  }
  uint64_t total = 0;
  for (const __m512i& sum : sums) total ^= static_cast<uint64_t>(_mm512_reduce_add_epi64(sum));
  return total;
}
#endif

uint64_t readPlain(const uint64_t* words, size_t part) {
  uint64_t sums[kStreams][kLineWords] = {};
  for (size_t i = 0; i + kLineWords <= part; i += kLineWords) {
    for (size_t stream = 0; stream < kStreams; ++stream) {
      const uint64_t* line = words + stream * part + i;
      for (size_t j = 0; j < kLineWords; ++j) sums[stream][j] ^= line[j];
    }
  }
  uint64_t total = 0;
  for (const auto& sum : sums) {
    for (const uint64_t value : sum) total ^= value;
  }
  return total;
}

}  // namespace

uint64_t readMemory(const uint64_t* words, size_t count) {
  const size_t part = count / kStreams;
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return readWide(words, part);
#endif
  return readPlain(words, part);
}

}  // namespace firn
