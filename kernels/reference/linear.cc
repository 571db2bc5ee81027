#include "kernels/reference/linear.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "kernels/reference/sums.h"

namespace firn::reference {

void linear(const LinearArgs& args) {
  assert(args.in.columns == args.weight.columns && args.out.columns == args.weight.rows);
  std::array<float, kWeightPiece> weights;
  for (uint64_t n = 0; n < args.weight.rows; ++n) {
    for (uint64_t i = 0; i < args.out.rows; ++i) args.out.row(i)[n] = 0;
    for (uint64_t first = 0; first < args.weight.columns; first += kWeightPiece) {
      const uint64_t count = std::min(kWeightPiece, args.weight.columns - first);
      readWeights(args.weight, n, first, {weights.data(), count});
      for (uint64_t i = 0; i < args.out.rows; ++i) {
        args.out.row(i)[n] += dot(args.in.row(i) + first, weights.data(), count);
      }
    }
    if (args.bias.data == nullptr) continue;
    float bias = 0;
    readWeights(args.bias, 0, n, {&bias, 1});
    for (uint64_t i = 0; i < args.out.rows; ++i) args.out.row(i)[n] += bias;
  }
}

}  // namespace firn::reference
