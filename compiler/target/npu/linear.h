// graph.linear and graph.head on the npu, with what linear_group.h finds around them.
#pragma once

#include "compiler/target/body_lowering.h"

namespace firn::target::npu {

/// Does nothing for an op that was lowered together with another one.
mlir::LogicalResult lowerLinear(BodyLowering& body, mlir::Operation* op);

}  // namespace firn::target::npu
