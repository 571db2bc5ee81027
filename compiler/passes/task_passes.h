// The phases `lower` and `schedule`: from a placed graph to a program with addresses (compiler/ir/task_ops.td).
// Not here: the phases before (passes.h), bytes (compiler/blob_emit).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/dtype.h"

namespace mlir {
class Pass;
}  // namespace mlir

namespace firn::passes {

struct LowerOptions {
  int64_t lanes = 1;                 ///< of a target that leaves the choice (target.h)
  int64_t maxPromptTokens = 0;       ///< with minResponseTokens the cache rows T, which the graph's caches must have
  int64_t minResponseTokens = 0;     ///< 0, both: maxPromptTokens = T
  int64_t attentionInputPlanes = 2;  ///< int8 planes of the inputs of q, k, v; 1 or 2
  int64_t headPlanes = 2;            ///< of the input of the head
  int64_t otherPlanes = 1;           ///< of every other linear
  std::optional<DType> kvType = std::nullopt;  ///< of the cache; nullopt: the target's own
};

/// The placed graph becomes one task.program: ops to tasks on lanes, with buffers and streams by name. The graph is
/// gone afterwards. Errors: task.lower_c1 (no entries, or not all placed on one target), _c2 (cache rows), and what a
/// rule of the target says of an op.
std::unique_ptr<mlir::Pass> createLowerPass(const LowerOptions& options);

/// Every buffer and stream gets an address and every operand its offset; entries get their scratch size and predicted
/// time, the program its memory. Errors: task.schedule_c1 (no single task.program).
std::unique_ptr<mlir::Pass> createSchedulePass();

/// Makes them known to firn-opt as --task-lower and --task-schedule.
void registerTaskPasses();

}  // namespace firn::passes
