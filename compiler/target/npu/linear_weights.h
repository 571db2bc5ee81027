// Weights of a linear layer in CMX: as they are stored, or brought to f16. Not here: how much of them at once
// (linear_tiling.h).
#pragma once

#include <optional>

#include "compiler/target/npu/linear_group.h"

namespace firn::target::npu {

/// A block of W.
struct WeightBlock {
  Range rows;
  Range depth;    ///< columns
  int64_t k = 0;  ///< columns of all of W
};

/// A block as it is stored.
struct WeightPlanes {
  OnChip codes;  ///< or raw rows
  std::optional<OnChip> scales;
  std::optional<OnChip> mins;
};

class WeightsOnChip {
 public:
  explicit WeightsOnChip(NpuBody& npu) : npu_(npu) {}

  /// The block in all of `tiles` (bits).
  WeightPlanes planes(const Layer& layer, uint64_t tiles, const WeightBlock& block);
  /// The block as f16 in all of `tiles`: each of them brings a part to f16 and passes it on to the others.
  OnChip half(const Layer& layer, uint64_t tiles, const WeightBlock& block);

 private:
  OnChip plane(const Tensor& stored, uint64_t tiles, const WeightBlock& block, llvm::StringRef name);
  void expand(const Layer& layer, int64_t tile, const WeightBlock& block, const Tensor& to);

  NpuBody& npu_;
};

}  // namespace firn::target::npu
