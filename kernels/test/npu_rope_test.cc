// npu.rope against kernels/reference and, for angles where that has no bits left, against sin and cos in long double.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/npu/rope.h"
#include "kernels/reference/rope.h"
#include "kernels/test/npu_test_data.h"

namespace firn::npu::test {
namespace {

constexpr uint64_t kRows = 4;
constexpr uint64_t kHeads = 3;
constexpr uint64_t kHeadDim = 40;
constexpr uint64_t kDims = 32;

struct Problem {
  explicit Problem(RopePairing turned) : pairing(turned) {
    Random random(1);
    in = random.normals(kRows * kHeads * kHeadDim);
    for (uint64_t p = 0; p < kDims / 2; ++p) freqs.push_back(std::pow(10000.0F, -static_cast<float>(p) / 16));
  }
  RopeArgs args(DType type, void* out) const {
    return {.in = in.data(),
            .inRowStride = kHeads * kHeadDim,
            .inHeadStride = kHeadDim,
            .outType = type,
            .out = out,
            .outRowStride = kHeads * kHeadDim,
            .outHeadStride = kHeadDim,
            .rows = kRows,
            .heads = kHeads,
            .headDim = kHeadDim,
            .positions = positions,
            .freqs = freqs.data(),
            .dims = kDims,
            .pairing = pairing,
            .magnitude = 1.25F};
  }
  std::vector<float> byReference() const {
    std::vector<float> out(in.size());
    reference::rope({.in = {in.data(), kRows, kHeads, kHeadDim, kHeads * kHeadDim, kHeadDim},
                     .out = {out.data(), kRows, kHeads, kHeadDim, kHeads * kHeadDim, kHeadDim},
                     .positions = positions,
                     .freqs = freqs.data(),
                     .dims = kDims,
                     .pairing = static_cast<reference::RopePairing>(pairing),
                     .magnitude = 1.25F});
    return out;
  }
  /// The larger of the two elements that a turn mixes into element `at`.
  double pairMagnitude(size_t at) const {
    const size_t j = at % kHeadDim;
    if (j >= kDims) return std::fabs(in[at]);
    const size_t half = kDims / 2;
    const size_t other = pairing == RopePairing::kInterleaved ? at ^ 1U : j < half ? at + half : at - half;
    return std::max(std::fabs(in[at]), std::fabs(in[other]));
  }

  RopePairing pairing;
  std::vector<float> in;
  std::vector<float> freqs;
  int32_t positions[kRows] = {0, 1, 77, 131071};
};

TEST(NpuRopeTest, IsThatOfTheReference) {
  for (const RopePairing pairing : {RopePairing::kInterleaved, RopePairing::kHalfSplit}) {
    const Problem problem(pairing);
    const std::vector<float> expected = problem.byReference();
    std::vector<float> out(problem.in.size());
    rope(problem.args(DType::kF32, out.data()));
    std::vector<uint16_t> halves(problem.in.size());
    rope(problem.args(DType::kF16, halves.data()));
    std::vector<float> same = problem.in;
    RopeArgs inPlace = problem.args(DType::kF32, same.data());
    inPlace.in = same.data();
    rope(inPlace);
    for (size_t at = 0; at < out.size(); ++at) {
      // Two products of a cosine below 1.25; each side rounds it (libm: one unit in the last place), its product with
      // the magnitude, that with the element, and the sum.
      const double bound = 2 * 1.25 * problem.pairMagnitude(at) * 10 * kRoundoff;
      ASSERT_NEAR(out[at], expected[at], at % kHeadDim < kDims ? bound : 0) << at;
      ASSERT_EQ(halves[at], f32ToF16(out[at]));
      ASSERT_EQ(same[at], out[at]);
    }
  }
}

/// One pair (1, 0) at a position gives cos and sin themselves.
TEST(NpuRopeTest, CosAndSinAreCorrectlyRoundedAlmostAlways) {
  uint64_t misses = 0;
  uint64_t count = 0;
  for (const int32_t scale : {1, 3, 1000, 16777213}) {
    for (const float freq : {1.0F, 0.7854F, 1.5707964F, 3.1415927F, 0.001F, -1.0F}) {
      for (int32_t step = -100; step <= 100; ++step) {
        const int32_t position = step * scale;
        const float in[2] = {1, 0};
        float out[2];
        rope({.in = in,
              .out = out,
              .rows = 1,
              .heads = 1,
              .headDim = 2,
              .positions = &position,
              .freqs = &freq,
              .dims = 2});
        const auto angle = static_cast<long double>(static_cast<float>(position) * freq);
        count += 2;
        misses += out[0] != static_cast<float>(cosl(angle)) ? 1 : 0;
        misses += out[1] != static_cast<float>(sinl(angle)) ? 1 : 0;
        ASSERT_NEAR(out[0], cosl(angle), kRoundoff) << position << " " << freq;
        ASSERT_NEAR(out[1], sinl(angle), kRoundoff) << position << " " << freq;
      }
    }
  }
  // Errors of 1e-15 move a rounding to 6e-8 once in ten million.
  EXPECT_EQ(misses, 0) << "of " << count;
}

TEST(NpuRopeTest, AnyAngleIsTaken) {
  const int32_t position = 2147483647;
  for (const float freq : {kInf, kNan, 1e30F, 0x1p-149F}) {
    const float in[2] = {1, 2};
    uint16_t out[2];
    rope({.in = in,
          .outType = DType::kF16,
          .out = out,
          .rows = 1,
          .heads = 1,
          .headDim = 2,
          .positions = &position,
          .freqs = &freq,
          .dims = 2});
    if (!std::isfinite(freq)) EXPECT_TRUE(std::isnan(f16ToF32(out[0])));
  }
}

}  // namespace
}  // namespace firn::npu::test
