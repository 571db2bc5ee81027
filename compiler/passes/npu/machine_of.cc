#include "compiler/passes/npu/machine_of.h"

#include "compiler/ir/task.h"
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

}  // namespace firn::passes
