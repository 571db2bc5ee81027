// npu.softmax, npu.rescale, npu.finish: attention over blocks of KV rows with a running maximum and sum (SHAVE).
// Source: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018.
//
// softmax, one block for the queries of one KV head: row i of the scores is query i mod group of token i / group, which
// stands at cache row R = row0 + firstToken + i / group. It sees column j, cache row r = firstRow + j, where
// mask[j] != 0, r <= R and, where there is a window, R - r < window. What is not seen takes no part: its scores are
// replaced before use, NaN or not.
//   where no column is seen:  factor = 1, probs = 0; max and sum stay (isFirst: minus infinity and 0)
//   else M = the larger of max (isFirst: minus infinity) and the seen score * scale; NaN is not compared
//        probs[j] = f16(exp(score * scale - M)) where seen, else 0
//        factor = exp(max - M);  sum = sum * factor + t;  max = M
// with t the lane sum of the probs as rounded, by addition, column j in lane j mod 16: the weights that S * V uses add
// up to the sum they are divided by. Where M is minus infinity 0 stands for it: scores of minus infinity weigh nothing,
// and a row of them is as one that sees nothing. exp is that of the cpu target. The sum is f32.
//
// rescale: acc = acc * factor. finish: out = f16(acc / sum), 0 where sum is 0 (whatever acc is).
#pragma once

#include "kernels/npu/view.h"

namespace firn::npu {

struct SoftmaxArgs {
  MatrixView<const float> scores;  ///< [m, r], m whole groups
  const uint8_t* mask = nullptr;   ///< r values
  float* max = nullptr;            ///< m values, in place
  float* sum = nullptr;            ///< m values, in place
  float* factor = nullptr;         ///< m values, out
  MatrixView<uint16_t> probs;      ///< [m, r]
  float scale = 1;
  int64_t row0 = 0;        ///< cache row of the entry's first row
  int64_t firstRow = 0;    ///< cache row of the block's first
  int64_t firstToken = 0;  ///< of the first query, counted from row0
  uint32_t group = 1;      ///< queries of a token
  int64_t window = 0;      ///< rows that a token sees, itself included; 0: all before it
  bool isFirst = false;    ///< max and sum are initialised here
};
void softmax(const SoftmaxArgs& args);

struct RescaleArgs {
  MatrixView<float> acc;          ///< [m, d], in place
  const float* factor = nullptr;  ///< m values
};
void rescale(const RescaleArgs& args);

struct FinishArgs {
  MatrixView<const float> acc;  ///< [m, d]
  const float* sum = nullptr;   ///< m values
  MatrixView<uint16_t> out;     ///< [m, d]
};
void finish(const FinishArgs& args);

}  // namespace firn::npu
