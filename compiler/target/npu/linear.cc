#include "compiler/target/npu/linear.h"

#include <numeric>

#include "compiler/target/npu/linear_group.h"
#include "compiler/target/npu/linear_tasks.h"
#include "compiler/target/npu/linear_tiling.h"
#include "compiler/target/npu/row_ops.h"

namespace firn::target::npu {
namespace {

LinearShape shapeOf(const LinearGroup& group) {
  LinearShape shape;
  shape.m = group.x.dims[0];
  shape.k = group.x.dims[1];
  const StoredWeights& first = group.layers.front().weights;
  shape.form = first.form;
  shape.rowBytes = first.rowBytes();
  shape.codeBits = first.bits;
  shape.width = group.gate.empty() ? 1 : 2;
  for (const Layer& layer : group.layers) {
    shape.n += layer.weights.rows.dims[0];
    if (layer.turn) shape.columnUnit = std::lcm(shape.columnUnit, layer.turn->headDim);
    shape.adds = shape.adds || layer.addend.has_value();
    // A tiling is for all of them: native only where all have codes, and the widest rows.
    if (layer.weights.form != first.form || layer.weights.bits != first.bits) shape.form = WeightForm::kRaw;
    shape.rowBytes = std::max(shape.rowBytes, layer.weights.rowBytes());
    const int64_t block = layer.weights.form == WeightForm::kHalf ? 1 : dtypeInfo(layer.weights.type)->blockElements;
    shape.blockElements = std::lcm(shape.blockElements, block);
  }
  shape.n /= shape.width;
  if (shape.form == WeightForm::kGroups) shape.groups = first.scales.dims[1];
  shape.casts = group.x.dtype == DType::kF32;
  shape.needsWhole = group.layers.size() > 1 || group.normWeight.has_value();
  return shape;
}

}  // namespace

mlir::LogicalResult lowerLinear(BodyLowering& body, mlir::Operation* op) {
  if (body.find(op->getResult(0)) != nullptr) return mlir::success();  // together with another one
  auto group = groupOf(body, op);
  if (mlir::failed(group)) return mlir::failure();
  NpuBody npu(body);
  const Result<LinearTiling> tiling = chooseTiling(npu.machine(), shapeOf(*group));
  if (!tiling) return op->emitOpError() << "npu.linear_c1: " << tiling.status().message();
  emitLinear(npu, *group, *tiling);
  return mlir::success();
}

}  // namespace firn::target::npu
