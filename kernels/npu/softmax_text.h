// npu.softmax, npu.rescale and npu.finish. Kernel text: included after a vector header.
#pragma once

#include "kernels/npu/elementwise_text.h"
#include "kernels/npu/softmax.h"

namespace firn::npu {
namespace {

/// Columns [begin, end) of a block, of which the mask takes some away.
struct SeenColumns {
  const uint8_t* mask;
  int32_t begin;
  int32_t end;

  /// x in the n lanes from column j on that are seen, `otherwise` in the rest.
  FIRN_INLINE F32 select(size_t j, size_t n, F32 x, F32 otherwise) const {
    static constexpr int32_t kLanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const I32 column = addInt(loadInt(kLanes), splatInt(static_cast<int32_t>(j)));
    F32 seen = toFloat(loadU8x16(mask + j, n));
    seen = ifLessInt(column, splatInt(begin), splat(0), seen);
    seen = ifLessInt(column, splatInt(end), seen, splat(0));
    return ifLess(splat(0), seen, x, otherwise);
  }
};

FIRN_INLINE int32_t clipped(int64_t column, size_t columns) {
  if (column < 0) return 0;
  return static_cast<int32_t>(least(static_cast<size_t>(column), columns));
}

FIRN_INLINE SeenColumns seenBy(const SoftmaxArgs& args, size_t row) {
  const int64_t self = args.row0 + args.firstToken + static_cast<int64_t>(row / args.group) - args.firstRow;
  const size_t columns = args.scores.columns;
  return {args.mask, args.window == 0 ? 0 : clipped(self + 1 - args.window, columns), clipped(self + 1, columns)};
}

FIRN_INLINE float expOf(float x) {
  float lanes[16];
  store(lanes, exp(splat(x)));
  return lanes[0];
}

/// Weights of row i below the maximum `shift`, as they are stored; gives their sum.
FIRN_INLINE float storeProbs(const SoftmaxArgs& args, size_t i, const SeenColumns& seen, float shift) {
  const float* scores = rowOf(args.scores, i);
  uint16_t* probs = rowOf(args.probs, i);
  const size_t columns = args.scores.columns;
  F32 total = splat(0);
  for (size_t j = 0; j < columns; j += 16) {
    const size_t n = lanesAt(j, columns);
    const F32 score = mul(loadN(scores + j, n), splat(args.scale));
    const F32 weight = seen.select(j, n, exp(sub(score, splat(shift))), splat(0));
    storeF16N(probs + j, weight, n);
    total = add(total, loadHalves(probs + j, n));
  }
  return sum(total);
}

void softmaxRow(const SoftmaxArgs& args, size_t i) {
  const float* scores = rowOf(args.scores, i);
  const size_t columns = args.scores.columns;
  const SeenColumns seen = seenBy(args, i);
  const float old = args.isFirst ? -__builtin_inff() : args.max[i];
  const float oldSum = args.isFirst ? 0.0F : args.sum[i];
  F32 best = splat(old);
  F32 any = splat(0);
  for (size_t j = 0; j < columns; j += 16) {
    const size_t n = lanesAt(j, columns);
    const F32 score = seen.select(j, n, mul(loadN(scores + j, n), splat(args.scale)), splat(-__builtin_inff()));
    best = ifLess(best, score, score, best);
    any = seen.select(j, n, splat(1), any);
  }
  if (maximum(any) == 0.0F) {
    args.max[i] = old;
    args.sum[i] = oldSum;
    args.factor[i] = 1;
    for (size_t j = 0; j < columns; j += 16) storeF16N(rowOf(args.probs, i) + j, splat(0), lanesAt(j, columns));
    return;
  }
  // + 0: which of two zeros is the larger depends on the instruction set.
  const float most = maximum(best) + 0.0F;
  const float shift = most == -__builtin_inff() ? 0.0F : most;
  args.factor[i] = expOf(old - shift);
  args.max[i] = most;
  args.sum[i] = oldSum * args.factor[i] + storeProbs(args, i, seen, shift);
}

void softmaxKernel(const SoftmaxArgs& args) {
  for (size_t i = 0; i < args.scores.rows; ++i) softmaxRow(args, i);
}

void rescaleKernel(const RescaleArgs& args) {
  eachElement(floats(args.acc), [&](size_t i, size_t j, size_t n) {
    return mul(loadN(rowOf(args.acc, i) + j, n), splat(args.factor[i]));
  });
}

void finishKernel(const FinishArgs& args) {
  eachElement(halves(args.out), [&](size_t i, size_t j, size_t n) {
    if (args.sum[i] == 0.0F) return splat(0);
    return div(loadN(rowOf(args.acc, i) + j, n), splat(args.sum[i]));
  });
}

}  // namespace
}  // namespace firn::npu
