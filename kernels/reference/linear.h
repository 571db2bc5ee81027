// linear: out[i, n] = sum_k in[i, k] * weight[n, k] + bias[n], in fp32, with the dequantized weight.
// Each weight row is dequantized once for all m rows. k runs in pieces of kWeightPiece, each piece summed as sums.h
// says, the pieces added in ascending order, the bias last. A row's result does not depend on the other rows.
#pragma once

#include "kernels/reference/view.h"

namespace firn::reference {

struct LinearArgs {
  ConstMatrix in;     ///< [m, K]
  WeightView weight;  ///< [N, K]
  WeightView bias;    ///< [1, N], unquantized; data nullptr: none
  Matrix out;         ///< [m, N]; must not overlap `in`
};

void linear(const LinearArgs& args);

}  // namespace firn::reference
