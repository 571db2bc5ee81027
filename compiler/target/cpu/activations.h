// Activations of the cpu target: the residual stream in every lane's copy, and rows quantized for the int8 kernels.
#pragma once

#include <array>

#include "compiler/target/body_lowering.h"

namespace firn::target {

/// The value as one copy per lane, doing what was put off: gathering embedding rows, adding partial sums (behind a
/// barrier). The state of `value` changes accordingly. Null, with a diagnostic at `user`, when it cannot be.
ValueState* replicate(BodyLowering& body, mlir::Operation* user, mlir::Value value);

/// Codes, scales and sums of a lane's part of `value`, made by one cpu.quantize however often they are asked for.
std::array<Tensor, 3> quantizedIn(BodyLowering& body, mlir::Value value, int lane, int64_t planes);

}  // namespace firn::target
