#include "compiler/import/even_norms.h"

#include <cmath>
#include <cstring>

namespace firn::import {
namespace {

/// Empty when the norm is no f32 [headDim].
std::vector<float> weightsOf(const std::optional<TensorView>& norm, uint32_t headDim) {
  if (!norm || norm->type != DType::kF32 || norm->dims != std::vector<uint64_t>{headDim}) return {};
  if (norm->bytes.size() != headDim * sizeof(float)) return {};
  std::vector<float> weights(headDim);
  std::memcpy(weights.data(), norm->bytes.data(), norm->bytes.size());
  return weights;
}

/// The column that rope turns `column` with; itself when it is not turned.
size_t partnerOf(size_t column, const RopeSpec& rope) {
  if (column >= rope.dims) return column;
  if (rope.pairing == RopePairing::kInterleaved) return column ^ 1;
  const size_t half = rope.dims / 2;
  return column < half ? column + half : column - half;
}

/// n such that the root mean square of two weights times 2^n lies in [sqrt(1/2), sqrt(2)); 0 for two zeros. By the
/// exponent of the mean square, as a logarithm may differ from one machine to the next.
int stepsToOne(float a, float b) {
  const double meanSquare = (double{a} * a + double{b} * b) / 2;
  if (meanSquare == 0 || !std::isfinite(meanSquare)) return 0;
  int exponent = 0;
  std::frexp(meanSquare, &exponent);  // meanSquare in [1/2, 1) * 2^exponent
  return -(exponent - (exponent & 1)) / 2;
}

/// weight *= 2^steps; false when it is not finite, before or after, or loses bits.
bool multiply(float& weight, int steps) {
  const float before = weight;
  weight = std::ldexp(before, steps);
  return std::isfinite(weight) && std::ldexp(weight, -steps) == before;
}

}  // namespace

std::optional<HeadNorms> evenHeadNorms(const LayerSpec& layer, const RopeSpec& rope, uint32_t headDim) {
  HeadNorms even = {weightsOf(layer.qNorm, headDim), weightsOf(layer.kNorm, headDim)};
  if (even.q.empty() || even.k.empty() || rope.dims > headDim) return std::nullopt;
  const std::vector<float> keys = even.k;
  for (size_t column = 0; column < headDim; ++column) {
    const int steps = stepsToOne(keys[column], keys[partnerOf(column, rope)]);
    if (!multiply(even.k[column], steps) || !multiply(even.q[column], -steps)) return std::nullopt;
  }
  return even;
}

}  // namespace firn::import
