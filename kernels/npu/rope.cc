#include "kernels/npu/rope.h"

#include <cassert>

namespace firn::npu {
namespace {

struct Turn {
  double cosine;
  double sine;
};

/// x to the nearest integer, ties to even; |x| below 2^51.
double nearest(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

/// For |r| up to a little above pi / 4: terms beyond are below 5e-17.
Turn turnNearZero(double r) {
  const double square = r * r;
  double s = -1.0 / 1307674368000;
  for (const double factorial : {6227020800.0, -39916800.0, 362880.0, -5040.0, 120.0, -6.0}) {
    s = s * square + 1 / factorial;
  }
  double c = 1.0 / 20922789888000;
  for (const double factorial : {-87178291200.0, 479001600.0, -3628800.0, 40320.0, -720.0, 24.0, -2.0, 1.0}) {
    c = c * square + 1 / factorial;
  }
  return {c, s * square * r + r};
}

Turn turnBy(double angle) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHalfPi1 = 0x1.921fbp+0;  // 22 bits
  constexpr double kHalfPi2 = 0x1.5110bp-22;
  constexpr double kHalfPi3 = 0x1.1846980000000p-44;
  constexpr double kHalfPi4 = 0x1.3198a2e037073p-69;
  const double n = nearest(angle * kTwoOverPi);
  const double r = (((angle - n * kHalfPi1) - n * kHalfPi2) - n * kHalfPi3) - n * kHalfPi4;
  const Turn turn = turnNearZero(r);
  const double quarter = n - 4 * nearest(n / 4);  // -2 .. 2
  if (quarter == 0) return turn;
  if (quarter == 1) return {-turn.sine, turn.cosine};
  if (quarter == -1) return {turn.sine, -turn.cosine};
  return {-turn.cosine, -turn.sine};
}

void put(const RopeArgs& args, uint64_t at, float value) {
  if (args.outType == DType::kF16) {
    static_cast<uint16_t*>(args.out)[at] = f32ToF16(value);
  } else {
    static_cast<float*>(args.out)[at] = value;
  }
}

void turnPair(const RopeArgs& args, uint64_t row, uint64_t pair) {
  const float angle = static_cast<float>(args.positions[row]) * args.freqs[pair];
  const Turn turn = turnBy(static_cast<double>(angle));
  const float cosine = static_cast<float>(turn.cosine) * args.magnitude;
  const float sine = static_cast<float>(turn.sine) * args.magnitude;
  const bool isInterleaved = args.pairing == RopePairing::kInterleaved;
  const uint64_t first = isInterleaved ? 2 * pair : pair;
  const uint64_t second = isInterleaved ? first + 1 : pair + args.dims / 2;
  for (uint64_t h = 0; h < args.heads; ++h) {
    const float* in = args.in + row * args.inRowStride + h * args.inHeadStride;
    const uint64_t out = row * args.outRowStride + h * args.outHeadStride;
    const float x = in[first];
    const float y = in[second];
    put(args, out + first, x * cosine - y * sine);
    put(args, out + second, x * sine + y * cosine);
  }
}

}  // namespace

void rope(const RopeArgs& args) {
  assert(args.dims % 2 == 0 && args.dims <= args.headDim);
  for (uint64_t i = 0; i < args.rows; ++i) {
    for (uint64_t pair = 0; pair < args.dims / 2; ++pair) turnPair(args, i, pair);
    for (uint64_t h = 0; h < args.heads; ++h) {
      const float* in = args.in + i * args.inRowStride + h * args.inHeadStride;
      for (uint64_t k = args.dims; k < args.headDim; ++k) {
        put(args, i * args.outRowStride + h * args.outHeadStride + k, in[k]);
      }
    }
  }
}

}  // namespace firn::npu
