// Phase "barriers": npu/passes.h.
#include "compiler/passes/npu/body_plan.h"
#include "compiler/passes/npu/machine_of.h"
#include "compiler/passes/npu/passes.h"
#include "compiler/passes/npu/programs.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {
namespace {

class BarriersPass : public mlir::PassWrapper<BarriersPass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BarriersPass)

  explicit BarriersPass(const std::atomic<bool>* cancel) : cancel_(cancel) {}

  llvm::StringRef getArgument() const final { return "npu-barriers"; }
  llvm::StringRef getDescription() const final { return "Who waits for whom, and how long bodies take"; }

  void runOnOperation() final {
    for (task::ProgramOp program : programsForMachines(getOperation())) {
      if (mlir::failed(forEachBody(program, "npu.barriers_c1", cancel_, synchronize))) return signalPassFailure();
      timeEntries(program);
    }
  }

 private:
  static mlir::LogicalResult synchronize(task::BodyOp body, const machine::Machine& machine) {
    auto plan = planOf(body, machine, "npu.barriers_c1");
    if (mlir::failed(plan)) return mlir::failure();
    target::Schedule schedule = scheduleOf(*plan, body, 0);
    const Status synchronized = target::synchronizePlan(plan->plan, machine, schedule);
    if (!synchronized.isOk()) {
      const bool isRefusal = synchronized.code() == Code::kResourceExhausted;
      return body.emitOpError() << (isRefusal ? "npu.barriers_c2: " : "npu.barriers_c3: ") << synchronized.message();
    }
    mlir::Builder builder(body.getContext());
    for (auto [index, task] : llvm::enumerate(plan->runs)) {
      task::RunOp run = task;
      llvm::SmallVector<int64_t> waits;
      for (const machine::Wait& wait : schedule.waits[index]) waits.append({wait.barrier, wait.count});
      const llvm::SmallVector<int64_t> signals(schedule.signals[index].begin(), schedule.signals[index].end());
      if (!waits.empty()) run.setWaitsAttr(builder.getDenseI64ArrayAttr(waits));
      if (!signals.empty()) run.setSignalsAttr(builder.getDenseI64ArrayAttr(signals));
    }
    body.setPicoseconds(schedule.picoseconds);
    return mlir::success();
  }

  /// Calls run one behind the other, everything drained between them.
  static void timeEntries(task::ProgramOp program) {
    mlir::SymbolTableCollection tables;
    for (auto entry : program.getBody().getOps<task::EntryOp>()) {
      uint64_t picoseconds = 0;
      for (auto call : entry.getBody().getOps<task::CallOp>()) {
        auto body = tables.lookupNearestSymbolFrom<task::BodyOp>(program, call.getCalleeAttr());
        picoseconds += body.getPicoseconds().value_or(0);
      }
      entry.setPicoseconds(picoseconds);
    }
  }

  const std::atomic<bool>* cancel_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createNpuBarriersPass(const std::atomic<bool>* cancel) {
  return std::make_unique<BarriersPass>(cancel);
}

}  // namespace firn::passes
