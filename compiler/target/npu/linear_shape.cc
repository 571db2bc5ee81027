#include "compiler/target/npu/linear_shape.h"

#include <numeric>

#include "compiler/target/npu/npu_body.h"
#include "kernels/quant/group_split.h"

namespace firn::target::npu {
namespace {

int64_t dimOf(mlir::Value matrix, unsigned index) {
  return llvm::cast<mlir::RankedTensorType>(matrix.getType()).getDimSize(index);
}

/// Columns of a head, in whose multiples a result that is turned can be cut.
int64_t turnedUnit(const FusedLayer& layer) {
  graph::RopeOp rope = layer.rope;
  return rope ? dimOf(layer.op->getResult(0), 1) / rope.getHeads() : 1;
}

}  // namespace

WeightStorage storageOf(DType type) {
  WeightStorage storage;
  if (const auto format = quant::groupFormat(type)) {
    storage.form = WeightForm::kGroups;
    storage.bits = format->bits;
    storage.zero = format->zero;
    storage.hasMins = format->hasMins;
    storage.groupElements = format->groupElements;
  } else if (type == DType::kF16) {
    storage.form = WeightForm::kHalf;
  }
  return storage;
}

uint64_t WeightStorage::rowBytes(DType type, int64_t columns) const {
  if (form != WeightForm::kGroups) return dtypeBytes(type, static_cast<uint64_t>(columns)).value_or(0);
  const uint64_t planeBytes = hasMins ? 4 : 2;  // f16 scales, and mins
  return static_cast<uint64_t>(columns) * bits / 8 + static_cast<uint64_t>(columns / groupElements) * planeBytes;
}

mlir::FailureOr<LinearShape> shapeOf(const FusedGroup& group, mlir::SymbolTableCollection& tables) {
  if (!llvm::cast<mlir::RankedTensorType>(group.input().getType()).hasStaticShape()) {
    return group.layers.front().op->emitOpError() << "npu.strategy_c3: its rows are not known: run freeze first",
           mlir::failure();
  }
  LinearShape shape;
  shape.m = dimOf(group.input(), 0);
  shape.k = dimOf(group.input(), 1);
  shape.width = group.activation != nullptr ? 2 : 1;
  shape.casts = storedType(group.input()) == DType::kF32;
  shape.norms = static_cast<bool>(group.norm);
  shape.needsWhole = group.layers.size() > 1 || static_cast<bool>(group.norm);
  bool isFirst = true;
  for (const FusedLayer& layer : group.layers) {
    auto symbol = layer.op->getAttrOfType<mlir::FlatSymbolRefAttr>("weight");
    mlir::RankedTensorType matrix = graph::weightType(layer.op, symbol, tables);
    const auto type = matrix ? graph::elementDType(matrix.getElementType()) : std::nullopt;
    if (!type) return layer.op->emitOpError() << "names no weight: " << symbol, mlir::failure();
    const WeightStorage storage = storageOf(*type);
    shape.n += matrix.getDimSize(0);
    shape.adds = shape.adds || static_cast<bool>(layer.sum);
    shape.columnUnit = std::lcm(shape.columnUnit, turnedUnit(layer));
    // A tiling is for all of them: native only where all have codes of one kind, and for the widest rows.
    const bool isSame = isFirst || (storage.form == shape.form && storage.bits == shape.codeBits);
    shape.form = isSame ? storage.form : WeightForm::kRaw;
    shape.codeBits = storage.bits;
    shape.hasMins = shape.hasMins || storage.hasMins;
    shape.rowBytes = std::max(shape.rowBytes, storage.rowBytes(*type, shape.k));
    const int64_t block = storage.form == WeightForm::kHalf ? 1 : dtypeInfo(*type)->blockElements;
    shape.blockElements = std::lcm(shape.blockElements, block);
    if (isFirst && storage.form == WeightForm::kGroups) shape.groups = shape.k / storage.groupElements;
    isFirst = false;
  }
  if (shape.form != WeightForm::kGroups) shape.groups = 1;
  shape.n /= shape.width;
  return shape;
}

}  // namespace firn::target::npu
