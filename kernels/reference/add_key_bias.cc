#include "kernels/reference/add_key_bias.h"

#include <cassert>
#include <cmath>

namespace firn::reference {
namespace {

float biasAt(const WeightView& bias, uint64_t head, uint64_t k) {
  float value = 0;
  readWeights(bias, head, k, {&value, 1});
  return value;
}

void addPair(const AddKeyBiasArgs& args, uint64_t row, uint64_t pair) {
  const bool interleaved = args.pairing == RopePairing::kInterleaved;
  const uint64_t first = interleaved ? 2 * pair : pair;
  const uint64_t second = interleaved ? first + 1 : pair + args.dims / 2;
  const float angle = static_cast<float>(row) * args.freqs[pair];
  const float cosine = std::cos(angle) * args.magnitude;
  const float sine = std::sin(angle) * args.magnitude;
  for (uint64_t h = 0; h < args.x.heads; ++h) {
    const float x = biasAt(args.bias, h, first);
    const float y = biasAt(args.bias, h, second);
    args.x.head(row, h)[first] += x * cosine - y * sine;
    args.x.head(row, h)[second] += x * sine + y * cosine;
  }
}

}  // namespace

void addKeyBias(const AddKeyBiasArgs& args) {
  assert(args.dims % 2 == 0 && args.dims <= args.x.headDim && args.rows <= args.x.rows);
  for (uint64_t row = 0; row < args.rows; ++row) {
    for (uint64_t pair = 0; pair < args.dims / 2; ++pair) addPair(args, row, pair);
    for (uint64_t h = 0; h < args.x.heads; ++h) {
      for (uint64_t k = args.dims; k < args.x.headDim; ++k) args.x.head(row, h)[k] += biasAt(args.bias, h, k);
    }
  }
}

}  // namespace firn::reference
