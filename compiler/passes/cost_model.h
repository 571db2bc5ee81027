// What a task takes, roughly: enough to choose among the entries of one blob, not to promise a time.
// Not here: the rates of a target (target.h), measured times (the device's profile).
#pragma once

#include <cstdint>

#include "compiler/ir/task.h"
#include "compiler/target/target.h"

namespace firn::passes {

/// Predicted picoseconds of one call of `body` in an entry that reads `context` cache rows: the slowest lane of each
/// segment, one segment after the other.
uint64_t bodyPicoseconds(const target::CostModel& model, task::BodyOp body, int64_t context);

}  // namespace firn::passes
