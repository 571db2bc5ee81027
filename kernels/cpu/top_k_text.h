// top_k and top_k_merge. Kernel text: included after a vector header. Lists of the best have one right content, so no
// order of work shows in them.
//
// Going through all numbers with one list costs an insertion for each that is better than all but K - 1 before it,
// K ln(n / K) of them: most of the time. So a first pass finds a bar that at least K numbers reach and hardly more: of
// 512 groups of numbers it takes the K-th largest maximum. A second pass inserts what reaches the bar.
#pragma once

#include "kernels/cpu/kernels.h"

namespace firn::cpu {
namespace {

/// Vectors of maxima, a group a lane.
constexpr size_t kMaxima = 32;

/// A list in the making.
struct BestList {
  float* values;
  int32_t* ids;
  size_t room;
  size_t count = 0;

  /// Puts it behind all that are as good: equal ones stay in the order they come in. `value` is no NaN.
  FIRN_INLINE void insert(float value, int32_t id) {
    size_t at = count;
    if (count < room) {
      ++count;
    } else if (!(values[--at] < value)) {
      return;
    }
    for (; at > 0 && values[at - 1] < value; --at) {
      values[at] = values[at - 1];
      ids[at] = ids[at - 1];
    }
    values[at] = value;
    ids[at] = id;
  }

  FIRN_INLINE void finish() const {
    for (size_t i = count; i < room; ++i) {
      values[i] = -__builtin_inff();
      ids[i] = -1;
    }
  }
};

/// Keys in the order of the numbers that they stand for, from minus infinity to infinity.
constexpr uint32_t kKeyOfLowest = 0x007FFFFF;
constexpr uint32_t kKeyOfHighest = 0xFF800000;
FIRN_INLINE float numberOfKey(uint32_t key) {
  const uint32_t numberBits = key >> 31 != 0 ? key ^ 0x80000000 : ~key;
  float number;
  __builtin_memcpy(&number, &numberBits, sizeof number);
  return number;
}

FIRN_INLINE size_t countAtLeast(const F32* vectors, size_t count, float bar) {
  size_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    found += static_cast<size_t>(__builtin_popcount(lanesAtLeast(vectors[i], splat(bar))));
  }
  return found;
}

/// A number that at least `count` numbers of the first n (a multiple of 16) reach; minus infinity where they are too
/// few to tell, or NaN.
FIRN_INLINE float barOf(const float* in, size_t n, size_t count) {
  F32 maxima[kMaxima];
  const size_t groups = n / 16 < kMaxima ? n / 16 : kMaxima;
  if (16 * groups < count) return -__builtin_inff();
  for (size_t g = 0; g < groups; ++g) maxima[g] = splat(-__builtin_inff());
  for (size_t j = 0; j < n; j += 16 * groups) {
    for (size_t g = 0; g < groups && j + 16 * g < n; ++g) {
      const F32 x = load(in + j + 16 * g);
      maxima[g] = ifLess(maxima[g], x, x, maxima[g]);
    }
  }
  uint32_t low = kKeyOfLowest;  // reached by `count` maxima
  uint32_t high = kKeyOfHighest + 1;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    const size_t found = countAtLeast(maxima, groups, numberOfKey(middle));
    (found >= count ? low : high) = middle;
    if (found == count) break;
  }
  return numberOfKey(low);
}

void topK(const TopKArgs& args) {
  if (args.count == 0) return;
  const size_t whole = args.columns / 16 * 16;
  for (uint32_t i = 0; i < args.rows; ++i) {
    const float* in = args.in.data + i * args.in.rowStride;
    BestList best = {args.out.values + i * args.out.valueStride, args.out.ids + i * args.out.idStride, args.count};
    const float bar = barOf(in, whole, args.count);
    const auto take = [&](size_t j) { best.insert(in[j], args.firstId + static_cast<int32_t>(j)); };
    for (size_t j = 0; j < whole; j += 16) {
      uint32_t lanes = lanesAtLeast(load(in + j), splat(bar));
      for (; lanes != 0; lanes &= lanes - 1) take(j + static_cast<size_t>(__builtin_ctz(lanes)));
    }
    for (size_t j = whole; j < args.columns; ++j) {
      if (in[j] >= bar) take(j);
    }
    best.finish();
  }
}

void topKMerge(const TopKMergeArgs& args) {
  if (args.count == 0) return;
  for (uint32_t i = 0; i < args.rows; ++i) {
    BestList best = {args.out.values + i * args.out.valueStride, args.out.ids + i * args.out.idStride, args.count};
    for (size_t part = 0; part < args.parts; ++part) {
      const float* values = args.values + part * args.valuePartStride + i * args.valueStride;
      const int32_t* ids = args.ids + part * args.idPartStride + i * args.idStride;
      for (size_t j = 0; j < args.count && ids[j] >= 0; ++j) best.insert(values[j], ids[j]);
    }
    best.finish();
  }
}

}  // namespace
}  // namespace firn::cpu
