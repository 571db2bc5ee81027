// The phases `lower` and `schedule`: from a placed graph to a program with addresses (compiler/ir/task_ops.td).
// Not here: the phases before (passes.h), bytes (compiler/blob_emit).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/dtype.h"

namespace mlir {
class Pass;
}  // namespace mlir

namespace firn::passes {

struct LowerOptions {
  int64_t lanes = 1;                 ///< of every program of the blob; some of them may leave lanes without tasks
  int64_t maxPromptTokens = 0;       ///< with minResponseTokens the cache rows T, which the graph's caches must have
  int64_t minResponseTokens = 0;     ///< 0, both: maxPromptTokens = T
  int64_t attentionInputPlanes = 2;  ///< int8 planes of the inputs of q, k, v; 1 or 2
  int64_t headPlanes = 2;            ///< of the input of the head
  int64_t otherPlanes = 1;           ///< of every other linear
  std::optional<DType> kvType = std::nullopt;  ///< of the cache; nullopt: the target's own
};

/// The placed graph becomes a task.program for each target: ops to tasks on lanes, with buffers and streams by name.
/// The graph is gone afterwards. Errors: task.lower_c1 (no entries, or a function that is on no target), _c2 (cache
/// rows), _c3 (no machine, where a target needs one), and what a rule of the target says of an op.
std::unique_ptr<mlir::Pass> createLowerPass(const LowerOptions& options);

/// Every buffer and stream gets an address and every operand its offset; entries get their scratch size and predicted
/// time, the program its memory. Where the target needs a machine, bodies become a segment for each of its queues,
/// names and times are left to npu/passes.h. `cancel`: set by another thread, it
/// ends the pass between two bodies, without a message. Errors: task.schedule_c1 (no task.program), _c2 (no machine).
std::unique_ptr<mlir::Pass> createSchedulePass(const std::atomic<bool>* cancel = nullptr);

/// Makes them known to firn-opt as --task-lower and --task-schedule.
void registerTaskPasses();

}  // namespace firn::passes
