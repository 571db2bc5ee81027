// rms_norm: out[i, j] = in[i, j] / sqrt(mean_j(in[i, j]^2) + epsilon) * weight[j].
// Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019.
// Squares are summed in double; mean + epsilon, reciprocal square root and products are fp32, in the order
// weight * (x * r). The weight is used as stored: a model that stores w for (1 + w) is changed at import.
#pragma once

#include "kernels/reference/view.h"

namespace firn::reference {

struct RmsNormArgs {
  ConstMatrix in;     ///< [m, n]
  WeightView weight;  ///< [1, n]
  Matrix out;         ///< [m, n]; may be `in`
  float epsilon = 0;
};

void rmsNorm(const RmsNormArgs& args);

}  // namespace firn::reference
