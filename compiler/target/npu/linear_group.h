// A fused group while it is lowered: where its weights, its input and its results lie. Not here: which ops it is made
// of (fused_group.h), the tasks (linear_tasks.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/target/npu/fused_group.h"
#include "compiler/target/npu/linear_tiling.h"
#include "compiler/target/npu/npu_body.h"

namespace firn::target::npu {

/// Weights as they are stored.
struct StoredWeights {
  WeightForm form = WeightForm::kRaw;
  DType type = DType::kF32;  ///< of the source
  Tensor rows;               ///< kHalf, kRaw: u8 [n, bytes of a row]; kGroups: codes u8 [n, k * bits / 8]
  Tensor scales;             ///< kGroups: f16 [n, groups]
  std::optional<Tensor> mins;
  uint32_t bits = 0;
  uint32_t zero = 0;
};

/// Rotation of a result, by position.
struct Turn {
  Tensor positions;  ///< i32 [m]
  Tensor freqs;      ///< f32 [pairs]
  int64_t headDim = 1;
  int64_t pairing = 0;
  int64_t dims = 0;
  double magnitude = 1;
};

/// One layer.
struct Layer {
  std::string name;
  StoredWeights weights;
  std::optional<Tensor> bias;    ///< f32 [n]
  std::optional<Turn> turn;      ///< the result is turned
  std::optional<Tensor> addend;  ///< f32 [m, n], added to the result: a residual stream
  Tensor out;                    ///< f32 or f16 [m, n]; of a gated pair that of the product, in both
};

struct LinearGroup {
  Tensor x;                          ///< f32 or f16 [m, k], in DDR
  std::optional<Tensor> normWeight;  ///< f32 [k]: x is normed first
  float eps = 0;
  std::string normName;
  std::vector<Layer> layers;
  std::string gate;  ///< "npu.silu_mul" or "npu.gelu_mul": two layers make one result, act(first) * second
};

/// The weights, inputs and places of results of a group, none of which has a place yet.
mlir::FailureOr<LinearGroup> groupOf(BodyLowering& body, const FusedGroup& fused);

}  // namespace firn::target::npu
