#include "kernels/reference/layer_norm.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace firn::reference {
namespace {

struct Moments {
  float mean;
  float reciprocalDeviation;
};

Moments moments(const float* row, uint64_t columns, float epsilon) {
  double sum = 0;
  for (uint64_t j = 0; j < columns; ++j) sum += row[j];
  const double mean = sum / static_cast<double>(columns);
  double squares = 0;
  for (uint64_t j = 0; j < columns; ++j) squares += (row[j] - mean) * (row[j] - mean);
  const auto variance = static_cast<float>(squares / static_cast<double>(columns));
  return {static_cast<float>(mean), 1.0F / std::sqrt(variance + epsilon)};
}

}  // namespace

void layerNorm(const LayerNormArgs& args) {
  assert(args.out.columns == args.in.columns && args.weight.columns == args.in.columns);
  std::array<float, kWeightPiece> weights;
  std::array<float, kWeightPiece> biases{};
  for (uint64_t i = 0; i < args.out.rows; ++i) {
    const float* in = args.in.row(i);
    float* out = args.out.row(i);
    const Moments row = moments(in, args.in.columns, args.epsilon);
    for (uint64_t first = 0; first < args.in.columns; first += kWeightPiece) {
      const uint64_t count = std::min(kWeightPiece, args.in.columns - first);
      readWeights(args.weight, 0, first, {weights.data(), count});
      if (args.bias.data != nullptr) readWeights(args.bias, 0, first, {biases.data(), count});
      for (uint64_t j = 0; j < count; ++j) {
        out[first + j] = (in[first + j] - row.mean) * row.reciprocalDeviation * weights[j] + biases[j];
      }
    }
  }
}

}  // namespace firn::reference
