#include "compiler/target/npu/linear.h"

#include "compiler/target/npu/linear_group.h"
#include "compiler/target/npu/linear_tasks.h"
#include "compiler/target/npu/tiling_attr.h"

namespace firn::target::npu {
namespace {

/// False for the tiling of another group: depth that is cut where it cannot be, columns that cut a head.
bool fits(const LinearTiling& tiling, const LinearGroup& group) {
  const int64_t k = group.x.dims[1];
  if (tiling.kChunk > k || (tiling.kChunk < k && (group.layers.size() > 1 || group.normWeight))) return false;
  return llvm::all_of(group.layers, [&](const Layer& layer) {
    const bool cutsHead = layer.turn && tiling.nChunk % layer.turn->headDim != 0;
    const int64_t block = layer.weights.form == WeightForm::kHalf ? 1 : dtypeInfo(layer.weights.type)->blockElements;
    return (!cutsHead || tiling.nChunk >= layer.weights.rows.dims[0]) &&
           (tiling.kChunk == k || tiling.kChunk % block == 0);
  });
}

}  // namespace

mlir::LogicalResult lowerLinear(BodyLowering& body, mlir::Operation* op) {
  if (!leadsGroup(op)) return mlir::success();  // made with the layer that does
  auto tiling = linearTilingOf(op);
  if (mlir::failed(tiling)) return mlir::failure();
  const FusedGroup fused = fusedGroupOf(op);
  if (!fused.isWhole()) return op->emitOpError() << "npu.linear_c2: its group is not as fuse makes it";
  auto group = groupOf(body, fused);
  if (mlir::failed(group)) return mlir::failure();
  if (!fits(*tiling, *group)) {
    return op->emitOpError() << "npu.linear_c1: its " << graph::kTilingAttr << " is not for its group: run strategy "
                             << "behind fuse";
  }
  NpuBody npu(body);
  emitLinear(npu, *group, *tiling);
  return mlir::success();
}

}  // namespace firn::target::npu
