// Ops of the npu that work row by row or number by number, on SHAVE.
#pragma once

#include "compiler/target/body_lowering.h"

namespace firn::target::npu {

mlir::LogicalResult lowerEmbed(BodyLowering& body, mlir::Operation* op);
mlir::LogicalResult lowerRmsNorm(BodyLowering& body, mlir::Operation* op);
mlir::LogicalResult lowerRope(BodyLowering& body, mlir::Operation* op);
mlir::LogicalResult lowerAdd(BodyLowering& body, mlir::Operation* op);
mlir::LogicalResult lowerMul(BodyLowering& body, mlir::Operation* op);
mlir::LogicalResult lowerScale(BodyLowering& body, mlir::Operation* op);
mlir::LogicalResult lowerSoftcap(BodyLowering& body, mlir::Operation* op);
mlir::LogicalResult lowerTopK(BodyLowering& body, mlir::Operation* op);
/// Why the npu cannot run this silu or gelu; empty when it can.
std::string whyNoActivation(mlir::Operation* op);

}  // namespace firn::target::npu
