// What the choice of a tiling has to know of a group of linear layers, from the graph alone. Not here: the choice
// (linear_tiling.h).
#pragma once

#include "compiler/target/npu/fused_group.h"
#include "compiler/target/npu/linear_tiling.h"

namespace firn::target::npu {

/// How weights of a type are stored for the npu.
struct WeightStorage {
  WeightForm form = WeightForm::kRaw;
  uint32_t bits = 0;  ///< of a code, of kGroups, as are zero, hasMins and groupElements
  uint32_t zero = 0;
  bool hasMins = false;
  int64_t groupElements = 0;

  /// Bytes of a row of `columns` weights in all of its planes; of kRaw and kHalf `type` says how many.
  uint64_t rowBytes(DType type, int64_t columns) const;
};

WeightStorage storageOf(DType type);

/// Of the matrices that the group reads and writes; failure after a diagnostic, for a weight that is none.
mlir::FailureOr<LinearShape> shapeOf(const FusedGroup& group, mlir::SymbolTableCollection& tables);

}  // namespace firn::target::npu
