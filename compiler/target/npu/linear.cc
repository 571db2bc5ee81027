#include "compiler/target/npu/linear.h"

#include "compiler/target/npu/linear_group.h"
#include "compiler/target/npu/linear_tasks.h"
#include "compiler/target/npu/tiling_attr.h"

namespace firn::target::npu {

mlir::LogicalResult lowerLinear(BodyLowering& body, mlir::Operation* op) {
  if (!leadsGroup(op)) return mlir::success();  // made with the layer that does
  auto tiling = linearTilingOf(op);
  if (mlir::failed(tiling)) return mlir::failure();
  auto group = groupOf(body, fusedGroupOf(op));
  if (mlir::failed(group)) return mlir::failure();
  NpuBody npu(body);
  emitLinear(npu, *group, *tiling);
  return mlir::success();
}

}  // namespace firn::target::npu
