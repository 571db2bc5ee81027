#include "kernels/reference/attention.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernels/reference/sums.h"

namespace firn::reference {
namespace {

/// One query row of one head, with the cache rows it may see.
struct Query {
  const AttentionArgs& args;
  const float* vector;
  uint64_t kvHead;
  uint64_t begin;  ///< rows [begin, end), where the mask allows
  uint64_t end;

  bool sees(uint64_t row) const { return args.mask[row] != 0; }
  float score(uint64_t row) const { return dot(vector, args.keys.head(row, kvHead), args.query.headDim) * args.scale; }
};

void attend(const Query& query, float* out) {
  const uint64_t headDim = query.args.query.headDim;
  std::fill_n(out, headDim, 0.0F);
  float maximum = -std::numeric_limits<float>::infinity();
  for (uint64_t r = query.begin; r < query.end; ++r) {
    if (query.sees(r)) maximum = std::max(maximum, query.score(r));
  }
  float sum = 0;
  for (uint64_t r = query.begin; r < query.end; ++r) {
    if (!query.sees(r)) continue;
    const float weight = std::exp(query.score(r) - maximum);
    const float* value = query.args.values.head(r, query.kvHead);
    sum += weight;
    for (uint64_t k = 0; k < headDim; ++k) out[k] += weight * value[k];
  }
  if (sum == 0) return;
  for (uint64_t k = 0; k < headDim; ++k) out[k] /= sum;
}

}  // namespace

void attention(const AttentionArgs& args) {
  assert(args.keys.heads > 0 && args.query.heads % args.keys.heads == 0 && args.values.heads == args.keys.heads);
  assert(args.context <= args.keys.rows && args.context <= args.values.rows);
  const uint64_t group = args.query.heads / args.keys.heads;
  for (uint64_t i = 0; i < args.out.rows; ++i) {
    const uint64_t next = args.row0 + i + 1;
    const uint64_t begin = args.window == 0 || next < args.window ? 0 : next - args.window;
    const uint64_t end = std::min(args.context, next);
    for (uint64_t h = 0; h < args.query.heads; ++h) {
      attend({args, args.query.head(i, h), h / group, begin, end}, args.out.head(i, h));
    }
  }
}

}  // namespace firn::reference
