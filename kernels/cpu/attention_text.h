// attention: flash-style over KV blocks of 64 rows aligned to absolute cache rows, one softmax partial per block,
// merged in ascending order (docs/arithmetic.md, "attention"; the method of Dao et al., "FlashAttention", 2022).
// Blocks are the outer loop: each is converted to fp32 once and then used by all rows and heads that see it.
// Kernel text: included after a vector header.
#pragma once

#include "kernels/cpu/elementwise_text.h"
#include "kernels/cpu/exp_text.h"
#include "kernels/cpu/kv_rows_text.h"

namespace firn::cpu {
namespace {

constexpr size_t kBlock = kAttentionBlock;
constexpr int32_t kNeverSeen = 0x7FFFFFFF;

/// A KV head, the query heads that use it, and its part of the workspace.
struct HeadGroup {
  const AttentionArgs& args;
  uint32_t kvHead;     ///< of k and v
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
  size_t start;                       ///< absolute row
  uint32_t visible;                   ///< rows with mask != 0
  int32_t index[kBlock];              ///< row - start where the mask is set, else kNeverSeen
  uint8_t visibleRow[kBlock];         ///< row - start of each visible row, ascending
  uint8_t visibleBefore[kBlock + 1];  ///< visible rows below start + j
};

/// kAttentionRows query vectors at most that see the same rows of a block.
struct QueryTile {
  size_t first;           ///< vector u is head u % heads of row u / heads
  int32_t begin;          ///< sees rows start + begin .. start + limit - 1 where the mask is set
  int32_t limit;          ///< 0: the block is in its future
  uint32_t firstVisible;  ///< index of the first of them among the visible rows of the block
  uint32_t lastVisible;   ///< one behind the last
};

/// First row that query row `row` may see: of its window, or 0.
FIRN_INLINE size_t firstSeen(const AttentionArgs& args, size_t row) {
  const size_t next = args.row0 + row + 1;
  return args.window == 0 || next < args.window ? 0 : next - args.window;
}

FIRN_INLINE bool scanBlock(const AttentionArgs& args, size_t start, Block& block) {
  block.start = start;
  block.visible = 0;
  // Rows after the last query row are in the future of all.
  const size_t end = size_t{args.row0} + args.rows < args.context ? size_t{args.row0} + args.rows : args.context;
  // Rows before the window of the first query row are before that of all.
  const size_t begin = firstSeen(args, 0);
  for (size_t j = 0; j < kBlock; ++j) {
    const bool seen = start + j >= begin && start + j < end && args.mask[start + j] != 0;
    block.index[j] = seen ? static_cast<int32_t>(j) : kNeverSeen;
    block.visibleBefore[j] = static_cast<uint8_t>(block.visible);
    if (seen) block.visibleRow[block.visible++] = static_cast<uint8_t>(j);
  }
  block.visibleBefore[kBlock] = static_cast<uint8_t>(block.visible);
  return block.visible > 0;
}

/// Converts the visible rows to fp32, padded with zeros to whole vectors. No other row is read.
template <typename Rows>
FIRN_INLINE void loadRows(const HeadGroup& group, const Block& block, const Rows& keys, const Rows& values) {
  const AttentionArgs& args = group.args;
  const size_t dim = group.paddedDim;
  for (size_t j = 0; j < kBlock; ++j) {
    if (block.index[j] != kNeverSeen) continue;
    for (size_t d = 0; d < dim; d += 16) store(group.blockK + j * dim + d, splat(0));
  }
  for (uint32_t i = 0; i < block.visible; ++i) {
    const size_t j = block.visibleRow[i];
    const auto k = keys.row(block.start + j);
    const auto v = values.row(block.start + j);
    for (size_t d = 0; d < dim; d += 16) {
      const size_t n = lanesAt(d, args.headDim);
      store(group.blockK + j * dim + d, k.at(d, n));
      store(group.blockV + i * dim + d, v.at(d, n));
    }
  }
}

void loadBlock(const HeadGroup& group, const Block& block) {
  const AttentionArgs& args = group.args;
  const size_t at = group.kvHead * args.kvHeadStride;
  const size_t stride = args.kvRowStride;
  if (args.type == DType::kF16) {
    return loadRows(group, block, floatRows<uint16_t>(args.k, at, stride), floatRows<uint16_t>(args.v, at, stride));
  }
  if (args.type == DType::kF32) {
    return loadRows(group, block, floatRows<float>(args.k, at, stride), floatRows<float>(args.v, at, stride));
  }
  const auto* k = static_cast<const uint8_t*>(args.k);
  const auto* v = static_cast<const uint8_t*>(args.v);
  const size_t scalesAt = group.kvHead * args.scaleHeadStride;
  loadRows(group, block, I8Rows{k + at, stride, args.kScales + scalesAt},
           I8Rows{v + at, stride, args.vScales + scalesAt});
  if (args.keyBias.bias == nullptr) return;
  const float* bias = args.keyBias.bias + group.kvHead * args.keyBias.biasHeadStride;
  for (uint32_t i = 0; i < block.visible; ++i) {
    const size_t j = block.visibleRow[i];
    addTurnedBias(args.keyBias, bias, block.start + j, group.blockK + j * group.paddedDim, args.headDim);
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

/// What a block adds to one query vector: a softmax partial, and how it enters the sums so far, which is
/// old * oldFactor + partial * newFactor.
struct Partial {
  alignas(64) float weights[kBlock];  ///< exp(score - max); 0 for rows that are not seen
  float max;
  float total;  ///< of the weights
  float oldFactor;
  float newFactor;
  bool isFirst;  ///< nothing before: the partial is taken as it is
};

/// Weights, maximum and total of the query vector in group.query.
FIRN_INLINE void blockSoftmax(const HeadGroup& group, const Block& block, const QueryTile& tile, Partial& partial) {
  const F32 lowest = splat(-__builtin_inff());
  const F32 scale = splat(group.args.scale);
  F32 largest = lowest;
  const size_t begin = static_cast<size_t>(tile.begin) / 16 * 16;
  const size_t end = static_cast<size_t>(tile.limit);
  for (size_t j = begin; j < end; j += 16) {
    const float* k = group.blockK + j * group.paddedDim;
    const F32 score = mul(scoreRows(group.query, k, group.paddedDim), scale);
    const I32 index = loadInt(block.index + j);
    const F32 notBefore = ifLessInt(index, splatInt(tile.begin), lowest, score);
    const F32 seen = ifLessInt(index, splatInt(tile.limit), notBefore, lowest);
    store(partial.weights + j, seen);
    largest = ifLess(largest, seen, seen, largest);
  }
  partial.max = maximum(largest);
  F32 lanes = splat(0);
  for (size_t j = begin; j < end; j += 16) {
    const F32 weight = exp(sub(load(partial.weights + j), splat(partial.max)));
    store(partial.weights + j, weight);
    lanes = add(lanes, weight);
  }
  partial.total = sum(lanes);
}

/// Updates maximum and sum of query vector `u`, and says how its values are merged.
FIRN_INLINE void mergeSums(const HeadGroup& group, size_t u, Partial& partial) {
  float& oldMax = group.maxima[u];
  float& oldTotal = group.sums[u];
  partial.isFirst = oldTotal == 0.0F;
  if (partial.isFirst) {
    oldMax = partial.max;
    oldTotal = partial.total;
    return;
  }
  const float newMax = oldMax > partial.max ? oldMax : partial.max;
  float factors[16] = {oldMax - newMax, partial.max - newMax};
  store(factors, exp(load(factors)));
  partial.oldFactor = factors[0];
  partial.newFactor = factors[1];
  oldMax = newMax;
  oldTotal = __builtin_fmaf(partial.total, partial.newFactor, oldTotal * partial.oldFactor);
}

FIRN_INLINE float* outOf(const HeadGroup& group, size_t u) {
  const AttentionArgs& args = group.args;
  return args.out + u / group.heads * args.outRowStride + (group.firstHead + u % group.heads) * args.outHeadStride;
}

/// Weighted sums of V, elements d .. d + 16 * kVectors - 1, for kRows query vectors, merged into `out`.
template <int kRows, int kVectors>
FIRN_INLINE void mergeValues(const HeadGroup& group, const Block& block, const QueryTile& tile,
                             const Partial (&partials)[kRows], size_t d) {
  const AttentionArgs& args = group.args;
  F32 acc[kRows][kVectors];
  for (int t = 0; t < kRows; ++t) {
    for (int c = 0; c < kVectors; ++c) acc[t][c] = splat(0);
  }
  for (uint32_t i = tile.firstVisible; i < tile.lastVisible; ++i) {
    const float* v = group.blockV + i * group.paddedDim + d;
    const size_t j = block.visibleRow[i];
    F32 values[kVectors];
    for (int c = 0; c < kVectors; ++c) values[c] = load(v + 16 * c);
    FIRN_UNROLL
    for (int t = 0; t < kRows; ++t) {
      const F32 weight = splat(partials[t].weights[j]);
      for (int c = 0; c < kVectors; ++c) acc[t][c] = fma(weight, values[c], acc[t][c]);
    }
  }
  for (int t = 0; t < kRows; ++t) {
    float* out = outOf(group, tile.first + t);
    for (int c = 0; c < kVectors; ++c) {
      const size_t at = d + 16 * c;
      const size_t n = lanesAt(at, args.headDim);
      F32 merged = acc[t][c];
      if (!partials[t].isFirst) {
        const F32 old = mul(loadN(out + at, n), splat(partials[t].oldFactor));
        merged = fma(merged, splat(partials[t].newFactor), old);
      }
      storeN(out + at, merged, n);
    }
  }
}

/// kRows query vectors over one block.
template <int kRows>
void attendTile(const HeadGroup& group, const Block& block, const QueryTile& tile) {
  const AttentionArgs& args = group.args;
  Partial partials[kRows];
  for (int t = 0; t < kRows; ++t) {
    const size_t u = tile.first + t;
    const float* q =
        args.q + u / group.heads * args.qRowStride + (group.firstHead + u % group.heads) * args.qHeadStride;
    for (size_t d = 0; d < group.paddedDim; d += 16) store(group.query + d, loadN(q + d, lanesAt(d, args.headDim)));
    blockSoftmax(group, block, tile, partials[t]);
    mergeSums(group, u, partials[t]);
  }
  size_t d = 0;
  for (; d + 64 <= group.paddedDim; d += 64) mergeValues<kRows, 4>(group, block, tile, partials, d);
  for (; d < group.paddedDim; d += 16) mergeValues<kRows, 1>(group, block, tile, partials, d);
}

template <int kRows>
void attendUpTo(const HeadGroup& group, const Block& block, const QueryTile& tile, size_t count) {
  if constexpr (kRows > 1) {
    if (count < kRows) return attendUpTo<kRows - 1>(group, block, tile, count);
  }
  attendTile<kRows>(group, block, tile);
}

/// What row `row` of q sees of a block.
FIRN_INLINE QueryTile rowView(const AttentionArgs& args, const Block& block, size_t row) {
  const size_t last = args.row0 + row;  // the row itself
  const size_t below = last < block.start ? 0 : last - block.start + 1;
  const size_t limit = below < kBlock ? below : kBlock;
  const size_t first = firstSeen(args, row);
  const size_t before = first < block.start ? 0 : first - block.start;
  const size_t begin = before < limit ? before : limit;
  return {0, static_cast<int32_t>(begin), static_cast<int32_t>(limit), block.visibleBefore[begin],
          block.visibleBefore[limit]};
}

/// All query vectors over one block, as many together as see the same rows.
void attendBlock(const HeadGroup& group, const Block& block) {
  const AttentionArgs& args = group.args;
  const size_t firstRow = block.start > args.row0 ? block.start - args.row0 : 0;
  const size_t vectors = size_t{args.rows} * group.heads;
  size_t u = firstRow * group.heads;
  while (u < vectors) {
    QueryTile tile = rowView(args, block, u / group.heads);
    tile.first = u;
    size_t count = 1;
    while (count < kAttentionRows && u + count < vectors) {
      const QueryTile next = rowView(args, block, (u + count) / group.heads);
      if (next.begin != tile.begin || next.limit != tile.limit) break;
      ++count;
    }
    if (tile.firstVisible < tile.lastVisible) attendUpTo<kAttentionRows>(group, block, tile, count);
    u += count;
  }
}

/// Divides by the sums; vectors that saw nothing become 0.
void finish(const HeadGroup& group) {
  const AttentionArgs& args = group.args;
  for (size_t u = 0; u < size_t{args.rows} * group.heads; ++u) {
    float* out = outOf(group, u);
    const F32 total = splat(group.sums[u]);
    for (size_t d = 0; d < args.headDim; d += 16) {
      const size_t n = lanesAt(d, args.headDim);
      storeN(out + d, group.sums[u] == 0.0F ? splat(0) : div(loadN(out + d, n), total), n);
    }
  }
}

void attendHeadGroup(const HeadGroup& group) {
  const AttentionArgs& args = group.args;
  for (size_t u = 0; u < size_t{args.rows} * group.heads; ++u) group.sums[u] = 0;
  Block block;
  const size_t end = size_t{args.row0} + args.rows < args.context ? size_t{args.row0} + args.rows : args.context;
  for (size_t start = firstSeen(args, 0) / kBlock * kBlock; start < end; start += kBlock) {
    if (!scanBlock(args, start, block)) continue;
    loadBlock(group, block);
    attendBlock(group, block);
  }
  finish(group);
}

void attention(const AttentionArgs& args) {
  if (args.rows == 0) return;
  const uint32_t firstInGroup = args.firstHead % args.group;
  for (uint32_t head = 0, kv = 0; head < args.heads; ++kv) {
    const uint32_t left = args.group - (kv == 0 ? firstInGroup : 0);
    const uint32_t heads = left < args.heads - head ? left : args.heads - head;
    const size_t dim = (size_t{args.headDim} + 15) / 16 * 16;
    float* const query = args.workspace + 2 * kBlock * dim;
    const HeadGroup group{.args = args,
                          .kvHead = kv,
                          .firstHead = head,
                          .heads = heads,
                          .paddedDim = dim,
                          .blockK = args.workspace,
                          .blockV = args.workspace + kBlock * dim,
                          .query = query,
                          .maxima = query + dim,
                          .sums = query + dim + size_t{args.rows} * heads};
    attendHeadGroup(group);
    head += heads;
  }
}

}  // namespace
}  // namespace firn::cpu
