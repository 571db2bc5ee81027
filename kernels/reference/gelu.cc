#include "kernels/reference/gelu.h"

#include <cassert>
#include <cmath>
#include <numbers>

namespace firn::reference {
namespace {

float geluErf(float x) { return 0.5F * x * (1.0F + std::erf(x * (std::numbers::sqrt2_v<float> / 2))); }

float geluTanh(float x) {
  constexpr float kSqrtTwoOverPi = std::numbers::sqrt2_v<float> * std::numbers::inv_sqrtpi_v<float>;
  return 0.5F * x * (1.0F + std::tanh(kSqrtTwoOverPi * (x + 0.044715F * x * x * x)));
}

}  // namespace

void gelu(const GeluArgs& args) {
  assert(args.in.columns == args.out.columns);
  for (uint64_t i = 0; i < args.out.rows; ++i) {
    const float* in = args.in.row(i);
    float* out = args.out.row(i);
    for (uint64_t j = 0; j < args.out.columns; ++j) out[j] = args.tanhForm ? geluTanh(in[j]) : geluErf(in[j]);
  }
}

}  // namespace firn::reference
