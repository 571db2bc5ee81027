// layer_norm: out[i, j] = (in[i, j] - mean) / sqrt(variance + epsilon) * weight[j] + bias[j], with the mean and the
// (biased) variance of row i. Source: Ba, Kiros and Hinton, "Layer Normalization", 2016.
// Mean and variance are summed in double, in two passes; the rest is fp32.
#pragma once

#include "kernels/reference/view.h"

namespace firn::reference {

struct LayerNormArgs {
  ConstMatrix in;     ///< [m, n]
  WeightView weight;  ///< [1, n]
  WeightView bias;    ///< [1, n]; data nullptr: none
  Matrix out;         ///< [m, n]; may be `in`
  float epsilon = 0;
};

void layerNorm(const LayerNormArgs& args);

}  // namespace firn::reference
