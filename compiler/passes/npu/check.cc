// Phase "check": npu/passes.h.
#include "compiler/passes/npu/body_plan.h"
#include "compiler/passes/npu/machine_of.h"
#include "compiler/passes/npu/passes.h"
#include "compiler/passes/npu/programs.h"
#include "compiler/target/npu/program_check.h"
#include "compiler/target/npu/schedule_program.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {
namespace {

class CheckPass : public mlir::PassWrapper<CheckPass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckPass)

  explicit CheckPass(const std::atomic<bool>* cancel) : cancel_(cancel) {}

  llvm::StringRef getArgument() const final { return "npu-check"; }
  llvm::StringRef getDescription() const final { return "Proof that bodies give what their tasks give one by one"; }

  void runOnOperation() final {
    for (task::ProgramOp program : programsForMachines(getOperation())) {
      const auto checkBody = [&](task::BodyOp body, const machine::Machine& machine) {
        return check(body, machine, scratchBytesOf(program));
      };
      if (mlir::failed(forEachBody(program, "npu.check_c1", cancel_, checkBody))) return signalPassFailure();
    }
  }

 private:
  static uint64_t scratchBytesOf(task::ProgramOp program) {
    mlir::DictionaryAttr memory = program.getMemoryAttr();
    auto bytes = memory ? memory.getAs<mlir::IntegerAttr>("scratch_bytes") : mlir::IntegerAttr();
    return bytes ? static_cast<uint64_t>(bytes.getInt()) : 0;
  }

  static mlir::LogicalResult check(task::BodyOp body, const machine::Machine& machine, uint64_t scratchBytes) {
    auto plan = planOf(body, machine, "npu.check_c1");
    if (mlir::failed(plan)) return mlir::failure();
    const target::Schedule schedule = scheduleOf(*plan, body, scratchBytes);
    const Status checked = target::checkProgram(target::programOf(plan->plan, schedule, machine));
    if (!checked.isOk()) return body.emitOpError() << "npu.check_c2: " << checked.message();
    return mlir::success();
  }

  const std::atomic<bool>* cancel_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createNpuCheckPass(const std::atomic<bool>* cancel) {
  return std::make_unique<CheckPass>(cancel);
}

}  // namespace firn::passes
