// attention: out[i, h, :] = sum_r p[r] * V[g(h), r, :] with p = softmax_r(scale * q[i, h, :] . K[g(h), r, :]) over the
// cache rows r that row i sees: mask[r] != 0 and r <= row0 + i and r < context, and, where there is a window,
// row0 + i - r < window (Beltagy et al., "Longformer", 2020). Query head h uses KV head
// g(h) = h / (heads / kvHeads). Source: Vaswani et al., "Attention Is All You Need", 2017; grouped heads: Ainslie et
// al., "GQA", 2023.
// Rows that are not seen are never read, so they may hold anything (NaN too). A row that sees nothing gives zeros.
// Two passes over the seen rows, ascending: the maximum of the scores; then the exponentials, their fp32 sum and the
// weighted values, divided by the sum at the end. Scores are computed in both passes, so no memory is needed.
#pragma once

#include <cstdint>

#include "kernels/reference/view.h"

namespace firn::reference {

struct AttentionArgs {
  ConstHeads query;               ///< [m, heads, d]
  ConstHeads keys;                ///< rows >= context, kvHeads (divides heads), d
  ConstHeads values;              ///< the same
  const uint8_t* mask = nullptr;  ///< context values
  uint64_t context = 0;
  uint64_t row0 = 0;    ///< cache row of query row 0
  uint64_t window = 0;  ///< rows that a row sees, itself included; 0: all before it
  float scale = 0;
  Heads out;  ///< [m, heads, d]; must not overlap the inputs
};

void attention(const AttentionArgs& args);

}  // namespace firn::reference
