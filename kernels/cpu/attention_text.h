// attention: flash-style over KV blocks of 64 rows aligned to absolute cache rows, one softmax partial per block,
// merged in ascending order (docs/arithmetic.md, "attention"; the method of Dao et al., "FlashAttention", 2022).
// Blocks are the outer loop: each is converted from f16 once and then used by all rows and heads that see it.
// Kernel text: included after a vector header.
#pragma once

#include "kernels/cpu/elementwise_text.h"
#include "kernels/cpu/exp_text.h"

namespace firn::cpu {
namespace {

constexpr size_t kBlock = kAttentionBlock;
constexpr int32_t kNeverSeen = 0x7FFFFFFF;

/// A KV head, the query heads that use it, and its part of the workspace.
struct HeadGroup {
  const uint16_t* k;
  const uint16_t* v;
  uint32_t firstHead;  ///< of q
  uint32_t heads;
  size_t paddedDim;  ///< headDim rounded up to 16
  float* blockK;     ///< [64][paddedDim]; rows that are masked are 0
  float* blockV;     ///< [visible rows][paddedDim]
  float* query;      ///< [paddedDim]
  float* maxima;     ///< [rows * heads], of the blocks so far
  float* sums;       ///< the same; 0: nothing seen so far
};

/// One KV block: which of its rows the mask shows.
struct Block {
  size_t start;                ///< absolute row
  uint32_t visible;            ///< rows with mask != 0
  int32_t index[kBlock];       ///< row - start where the mask is set, else kNeverSeen
  uint8_t visibleRow[kBlock];  ///< row - start of each visible row, ascending
};

/// kAttentionRows query vectors at most that see the same rows of a block.
struct QueryTile {
  size_t first;      ///< vector u is head u % heads of row u / heads
  int32_t limit;     ///< sees rows start .. start + limit - 1 where the mask is set
  uint32_t visible;  ///< how many
};

FIRN_INLINE bool scanBlock(const AttentionArgs& args, size_t start, Block& block) {
  block.start = start;
  block.visible = 0;
  // Rows after the last query row are in the future of all.
  const size_t end = size_t{args.row0} + args.rows < args.context ? size_t{args.row0} + args.rows : args.context;
  for (size_t j = 0; j < kBlock; ++j) {
    const bool seen = start + j < end && args.mask[start + j] != 0;
    block.index[j] = seen ? static_cast<int32_t>(j) : kNeverSeen;
    if (seen) block.visibleRow[block.visible++] = static_cast<uint8_t>(j);
  }
  return block.visible > 0;
}

/// Converts the visible rows to fp32, padded with zeros to whole vectors. No other row is read.
FIRN_INLINE void loadBlock(const AttentionArgs& args, const HeadGroup& group, const Block& block) {
  const size_t dim = group.paddedDim;
  for (size_t j = 0; j < kBlock; ++j) {
    if (block.index[j] != kNeverSeen) continue;
    for (size_t d = 0; d < dim; d += 16) store(group.blockK + j * dim + d, splat(0));
  }
  for (uint32_t i = 0; i < block.visible; ++i) {
    const size_t j = block.visibleRow[i];
    const uint16_t* k = group.k + (block.start + j) * args.kvRowStride;
    const uint16_t* v = group.v + (block.start + j) * args.kvRowStride;
    for (size_t d = 0; d < dim; d += 16) {
      const size_t n = lanesAt(d, args.headDim);
      store(group.blockK + j * dim + d, loadF16N(k + d, n));
      store(group.blockV + i * dim + d, loadF16N(v + d, n));
    }
  }
}

/// Scores of the 16 rows from j on: each a sum in 16 virtual lanes, folded.
FIRN_INLINE F32 scoreRows(const float* query, const float* blockK, size_t dim) {
  F32 acc[16];
  for (F32& a : acc) a = splat(0);
  for (size_t d = 0; d < dim; d += 16) {
    const F32 q = load(query + d);
    FIRN_UNROLL
    for (size_t j = 0; j < 16; ++j) acc[j] = fma(q, load(blockK + j * dim + d), acc[j]);
  }
  return sumEach(acc);
}

/// Softmax partial of one query vector: weights[j] = exp(score_j - max), 0 for rows that it does not see.
FIRN_INLINE void blockSoftmax(const HeadGroup& group, const Block& block, const QueryTile& tile, const float* query,
                              float scale, float* weights, float& max, float& total) {
  const F32 lowest = splat(-__builtin_inff());
  F32 largest = lowest;
  const size_t end = static_cast<size_t>(tile.limit);
  for (size_t j = 0; j < end; j += 16) {
    const F32 score = mul(scoreRows(query, group.blockK + j * group.paddedDim, group.paddedDim), splat(scale));
    const F32 seen = ifLessInt(loadInt(block.index + j), splatInt(tile.limit), score, lowest);
    store(weights + j, seen);
    largest = ifLess(largest, seen, seen, largest);
  }
  max = maximum(largest);
  F32 lanes = splat(0);
  for (size_t j = 0; j < end; j += 16) {
    const F32 weight = exp(sub(load(weights + j), splat(max)));
    store(weights + j, weight);
    lanes = add(lanes, weight);
  }
  total = sum(lanes);
}

/// How a block's partial enters the sums so far: old * oldFactor + partial * newFactor.
struct Merge {
  float oldFactor;
  float newFactor;
  bool isFirst;  ///< nothing before: the partial is taken as it is
};

/// Updates maximum and sum of query vector `u`.
FIRN_INLINE Merge mergeSums(const HeadGroup& group, size_t u, float max, float total) {
  float& oldMax = group.maxima[u];
  float& oldTotal = group.sums[u];
  if (oldTotal == 0.0F) {
    oldMax = max;
    oldTotal = total;
    return {0, 1, true};
  }
  const float newMax = oldMax > max ? oldMax : max;
  float exponents[16] = {oldMax - newMax, max - newMax};
  store(exponents, exp(load(exponents)));
  oldMax = newMax;
  oldTotal = __builtin_fmaf(total, exponents[1], oldTotal * exponents[0]);
  return {exponents[0], exponents[1], false};
}

FIRN_INLINE float* outOf(const AttentionArgs& args, const HeadGroup& group, size_t u) {
  return args.out + u / group.heads * args.outRowStride + (group.firstHead + u % group.heads) * args.outHeadStride;
}

/// Weighted sums of V, elements d .. d + 16 * kVectors - 1, for kRows query vectors, merged into `out`.
template <int kRows, int kVectors>
FIRN_INLINE void mergeValues(const AttentionArgs& args, const HeadGroup& group, const Block& block,
                             const QueryTile& tile, const float (&weights)[kRows][kBlock], const Merge (&merges)[kRows],
                             size_t d) {
  F32 acc[kRows][kVectors];
  for (int t = 0; t < kRows; ++t) {
    for (int c = 0; c < kVectors; ++c) acc[t][c] = splat(0);
  }
  for (uint32_t i = 0; i < tile.visible; ++i) {
    const float* v = group.blockV + i * group.paddedDim + d;
    const size_t j = block.visibleRow[i];
    F32 values[kVectors];
    for (int c = 0; c < kVectors; ++c) values[c] = load(v + 16 * c);
    FIRN_UNROLL
    for (int t = 0; t < kRows; ++t) {
      const F32 weight = splat(weights[t][j]);
      for (int c = 0; c < kVectors; ++c) acc[t][c] = fma(weight, values[c], acc[t][c]);
    }
  }
  for (int t = 0; t < kRows; ++t) {
    float* out = outOf(args, group, tile.first + t);
    for (int c = 0; c < kVectors; ++c) {
      const size_t at = d + 16 * c;
      const size_t n = lanesAt(at, args.headDim);
      F32 merged = acc[t][c];
      if (!merges[t].isFirst) {
        const F32 old = mul(loadN(out + at, n), splat(merges[t].oldFactor));
        merged = fma(merged, splat(merges[t].newFactor), old);
      }
      storeN(out + at, merged, n);
    }
  }
}

/// kRows query vectors over one block.
template <int kRows>
void attendTile(const AttentionArgs& args, const HeadGroup& group, const Block& block, const QueryTile& tile) {
  alignas(64) float weights[kRows][kBlock];
  Merge merges[kRows];
  for (int t = 0; t < kRows; ++t) {
    const size_t u = tile.first + t;
    const float* q =
        args.q + u / group.heads * args.qRowStride + (group.firstHead + u % group.heads) * args.qHeadStride;
    for (size_t d = 0; d < group.paddedDim; d += 16) store(group.query + d, loadN(q + d, lanesAt(d, args.headDim)));
    float max;
    float total;
    blockSoftmax(group, block, tile, group.query, args.scale, weights[t], max, total);
    merges[t] = mergeSums(group, u, max, total);
  }
  size_t d = 0;
  for (; d + 64 <= group.paddedDim; d += 64) mergeValues<kRows, 4>(args, group, block, tile, weights, merges, d);
  for (; d < group.paddedDim; d += 16) mergeValues<kRows, 1>(args, group, block, tile, weights, merges, d);
}

template <int kRows>
void attendUpTo(const AttentionArgs& args, const HeadGroup& group, const Block& block, const QueryTile& tile,
                size_t count) {
  if constexpr (kRows > 1) {
    if (count < kRows) return attendUpTo<kRows - 1>(args, group, block, tile, count);
  }
  attendTile<kRows>(args, group, block, tile);
}

/// What row `row` of q sees of a block.
FIRN_INLINE QueryTile rowView(const AttentionArgs& args, const Block& block, size_t row) {
  const size_t last = args.row0 + row;  // the row itself
  const size_t limit = last < block.start ? 0 : last - block.start + 1;
  QueryTile view{0, static_cast<int32_t>(limit < kBlock ? limit : kBlock), 0};
  while (view.visible < block.visible && block.visibleRow[view.visible] < view.limit) ++view.visible;
  return view;
}

/// All query vectors over one block, as many together as see the same rows.
void attendBlock(const AttentionArgs& args, const HeadGroup& group, const Block& block) {
  const size_t firstRow = block.start > args.row0 ? block.start - args.row0 : 0;
  const size_t vectors = size_t{args.rows} * group.heads;
  size_t u = firstRow * group.heads;
  while (u < vectors) {
    QueryTile tile = rowView(args, block, u / group.heads);
    tile.first = u;
    size_t count = 1;
    while (count < kAttentionRows && u + count < vectors) {
      const QueryTile next = rowView(args, block, (u + count) / group.heads);
      if (next.limit != tile.limit) break;
      ++count;
    }
    if (tile.visible > 0) attendUpTo<kAttentionRows>(args, group, block, tile, count);
    u += count;
  }
}

/// Divides by the sums; vectors that saw nothing become 0.
void finish(const AttentionArgs& args, const HeadGroup& group) {
  for (size_t u = 0; u < size_t{args.rows} * group.heads; ++u) {
    float* out = outOf(args, group, u);
    const F32 total = splat(group.sums[u]);
    for (size_t d = 0; d < args.headDim; d += 16) {
      const size_t n = lanesAt(d, args.headDim);
      storeN(out + d, group.sums[u] == 0.0F ? splat(0) : div(loadN(out + d, n), total), n);
    }
  }
}

void attendHeadGroup(const AttentionArgs& args, const HeadGroup& group) {
  for (size_t u = 0; u < size_t{args.rows} * group.heads; ++u) group.sums[u] = 0;
  Block block;
  const size_t end = size_t{args.row0} + args.rows < args.context ? size_t{args.row0} + args.rows : args.context;
  for (size_t start = 0; start < end; start += kBlock) {
    if (!scanBlock(args, start, block)) continue;
    loadBlock(args, group, block);
    attendBlock(args, group, block);
  }
  finish(args, group);
}

void attention(const AttentionArgs& args) {
  if (args.rows == 0) return;
  const uint32_t firstInGroup = args.firstHead % args.group;
  for (uint32_t head = 0, kv = 0; head < args.heads; ++kv) {
    const uint32_t left = args.group - (kv == 0 ? firstInGroup : 0);
    HeadGroup group{};
    group.k = args.k + kv * args.kvHeadStride;
    group.v = args.v + kv * args.kvHeadStride;
    group.firstHead = head;
    group.heads = left < args.heads - head ? left : args.heads - head;
    group.paddedDim = (size_t{args.headDim} + 15) / 16 * 16;
    group.blockK = args.workspace;
    group.blockV = group.blockK + kBlock * group.paddedDim;
    group.query = group.blockV + kBlock * group.paddedDim;
    group.maxima = group.query + group.paddedDim;
    group.sums = group.maxima + size_t{args.rows} * group.heads;
    attendHeadGroup(args, group);
    head += group.heads;
  }
}

}  // namespace
}  // namespace firn::cpu
