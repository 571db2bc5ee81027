// What a task takes, roughly: enough to choose among the entries of one blob, not to promise a time.
// Not here: measured times (the device's profile).
#pragma once

#include <cstdint>

#include "compiler/ir/task.h"

namespace firn::passes {

/// Rates of one lane. A task takes the larger of reading its weights and its multiply-adds, plus moving its
/// activations, plus a start.
struct CostModel {
  double weightBytesPerSecond;
  double intMacsPerSecond;    ///< of int8 products, per plane
  double floatMacsPerSecond;  ///< of fp32 products, and of attention
  double activationBytesPerSecond;
  double taskSeconds;     ///< to start a task
  double barrierSeconds;  ///< to end a segment
};

/// The rates of a target of that many lanes.
CostModel costModel(llvm::StringRef target, int64_t lanes);

/// Predicted picoseconds of one call of `body` in an entry that reads `context` cache rows: the slowest lane of each
/// segment, one segment after the other.
uint64_t bodyPicoseconds(const CostModel& model, task::BodyOp body, int64_t context);

}  // namespace firn::passes
