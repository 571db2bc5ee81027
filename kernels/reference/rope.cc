#include "kernels/reference/rope.h"

#include <cassert>
#include <cmath>

namespace firn::reference {
namespace {

struct Turn {
  float cosine;
  float sine;
};

Turn turnAt(const RopeArgs& args, uint64_t row, uint64_t pair) {
  const float angle = static_cast<float>(args.positions[row]) * args.freqs[pair];
  return {std::cos(angle) * args.magnitude, std::sin(angle) * args.magnitude};
}

}  // namespace

void rope(const RopeArgs& args) {
  assert(args.dims % 2 == 0 && args.dims <= args.in.headDim && args.out.headDim == args.in.headDim);
  const uint64_t pairs = args.dims / 2;
  const bool interleaved = args.pairing == RopePairing::kInterleaved;
  for (uint64_t i = 0; i < args.out.rows; ++i) {
    for (uint64_t pair = 0; pair < pairs; ++pair) {
      const Turn turn = turnAt(args, i, pair);
      const uint64_t first = interleaved ? 2 * pair : pair;
      const uint64_t second = interleaved ? first + 1 : pair + pairs;
      for (uint64_t h = 0; h < args.out.heads; ++h) {
        const float x = args.in.head(i, h)[first];
        const float y = args.in.head(i, h)[second];
        args.out.head(i, h)[first] = x * turn.cosine - y * turn.sine;
        args.out.head(i, h)[second] = x * turn.sine + y * turn.cosine;
      }
    }
    for (uint64_t h = 0; h < args.out.heads; ++h) {
      for (uint64_t k = args.dims; k < args.in.headDim; ++k) args.out.head(i, h)[k] = args.in.head(i, h)[k];
    }
  }
}

}  // namespace firn::reference
