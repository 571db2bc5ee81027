#include "compiler/passes/npu/machine_of.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

namespace firn::passes {

mlir::FailureOr<machine::Machine> machineOf(mlir::Operation* op, llvm::StringRef name, llvm::StringRef error) {
  auto text = op->getAttrOfType<mlir::StringAttr>(name);
  if (!text)
    return op->emitError() << error << ": found no attribute " << name << ", which "
                           << (name == task::kMachineAttr ? "lower" : "legalize") << " writes: run it first";
  Result<machine::Machine> machine = machine::parseMachine(std::string_view(text.getValue()), name.str());
  if (!machine) return op->emitError() << error << ": " << machine.status().message();
  return *std::move(machine);
}

mlir::LogicalResult forEachBody(task::ProgramOp program, llvm::StringRef error, const std::atomic<bool>* cancel,
                                llvm::function_ref<mlir::LogicalResult(task::BodyOp, const machine::Machine&)> work) {
  auto machine = machineOf(program, task::kMachineAttr, error);
  if (mlir::failed(machine)) return mlir::failure();
  for (auto body : program.getBody().getOps<task::BodyOp>()) {
    if (cancel != nullptr && cancel->load()) return mlir::failure();
    if (mlir::failed(work(body, *machine))) return mlir::failure();
  }
  return mlir::success();
}

}  // namespace firn::passes
