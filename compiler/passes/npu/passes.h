// The phases that programs for a machine take besides the common ones, each one pass: legalize, fuse and strategy work
// on the graph dialect before `lower`; barriers, check and emit on the task dialect behind `schedule`. What is on other
// targets they leave as it is. Not here: schedule of such a program (schedule_body.h), rules (compiler/target/npu).
#pragma once

#include <atomic>
#include <memory>

namespace mlir {
class Pass;
}  // namespace mlir

namespace firn::passes {

/// Bodies are cut into three functions: what stands before the attention, the attention, which is made for each
/// context, and what stands behind it. The module names its machine (graph.machine), or the option `machine` of
/// firn-opt does. Errors: npu.legalize_c1 (a layer without one attention), _c2 (the machine).
std::unique_ptr<mlir::Pass> createNpuLegalizePass();

/// Ops whose tasks are made together, so that what is between them stays on chip, get the number of their group
/// (graph.group): linear layers that read one input; the norm before them, when they alone read it; behind them the
/// activation and product of a gate and its factor, the rope of a result, or its sum with a value that is there before.
std::unique_ptr<mlir::Pass> createNpuFusePass();

/// Groups of linear layers and attentions get their tiling (graph.tiling): the fastest that fits, by the formulas of
/// blob/machine/cost.h; equal ones are looked at once. Errors: npu.strategy_c1 (no machine), _c2 (none fits on chip),
/// _c3 (a group or an attention that is not as the phases before leave it).
std::unique_ptr<mlir::Pass> createNpuStrategyPass();

/// Tasks of scheduled bodies get their waits and signals; bodies and entries the time that they take. Errors:
/// npu.barriers_c1 (no machine, or no task of it), _c2 (more barriers than it has), _c3 (queues that cannot run).
/// `cancel`: set by another thread, it ends the pass between two bodies, without a message.
std::unique_ptr<mlir::Pass> createNpuBarriersPass(const std::atomic<bool>* cancel = nullptr);

/// Proves of every body that it gives what its tasks give one by one (compiler/target/npu/program_check.h); changes
/// nothing. Errors: npu.check_c1 (no machine, or no task of it), _c2 (what is wrong, with the tasks). `cancel` as
/// above.
std::unique_ptr<mlir::Pass> createNpuCheckPass(const std::atomic<bool>* cancel = nullptr);

/// Names of memory in operands become addresses; the order that `lower` wrote is forgotten.
std::unique_ptr<mlir::Pass> createNpuEmitPass();

/// Makes them known to firn-opt: --npu-legalize, --npu-fuse, --npu-strategy, --npu-barriers, --npu-check, --npu-emit.
void registerNpuPasses();

}  // namespace firn::passes
