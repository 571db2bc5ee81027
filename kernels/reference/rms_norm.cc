#include "kernels/reference/rms_norm.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace firn::reference {
namespace {

float reciprocalRms(const float* row, uint64_t columns, float epsilon) {
  double squares = 0;
  for (uint64_t j = 0; j < columns; ++j) squares += static_cast<double>(row[j]) * row[j];
  const auto mean = static_cast<float>(squares / static_cast<double>(columns));
  return 1.0F / std::sqrt(mean + epsilon);
}

}  // namespace

void rmsNorm(const RmsNormArgs& args) {
  assert(args.out.columns == args.in.columns && args.weight.columns == args.in.columns);
  std::array<float, kWeightPiece> weights;
  for (uint64_t i = 0; i < args.out.rows; ++i) {
    const float* in = args.in.row(i);
    float* out = args.out.row(i);
    const float scale = reciprocalRms(in, args.in.columns, args.epsilon);
    for (uint64_t first = 0; first < args.in.columns; first += kWeightPiece) {
      const uint64_t count = std::min(kWeightPiece, args.in.columns - first);
      readWeights(args.weight, 0, first, {weights.data(), count});
      for (uint64_t j = 0; j < count; ++j) out[first + j] = weights[j] * (in[first + j] * scale);
    }
  }
}

}  // namespace firn::reference
