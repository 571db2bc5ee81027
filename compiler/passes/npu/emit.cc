// Phase "emit": npu/passes.h.
#include <string>

#include "compiler/passes/npu/passes.h"
#include "compiler/passes/npu/programs.h"
#include "compiler/passes/resolve_names.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {
namespace {

class EmitPass : public mlir::PassWrapper<EmitPass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitPass)

  llvm::StringRef getArgument() const final { return "npu-emit"; }
  llvm::StringRef getDescription() const final { return "Addresses in place of names"; }

  void runOnOperation() final {
    for (task::ProgramOp program : programsForMachines(getOperation())) {
      Addresses shared;
      addAddresses(program.getBody(), shared);
      for (auto body : program.getBody().getOps<task::BodyOp>()) {
        Addresses own;
        addAddresses(body.getBody(), own);
        body.walk([&](task::RunOp run) {
          resolveNames(run, own, shared);
          run.removePositionAttr();
        });
      }
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> createNpuEmitPass() { return std::make_unique<EmitPass>(); }

void registerNpuPasses() {
  mlir::registerPass([] { return createNpuLegalizePass(); });
  mlir::registerPass([] { return createNpuFusePass(); });
  mlir::registerPass([] { return createNpuStrategyPass(); });
  mlir::registerPass([] { return createNpuBarriersPass(); });
  mlir::registerPass([] { return createNpuCheckPass(); });
  mlir::registerPass([] { return createNpuEmitPass(); });
}

}  // namespace firn::passes
