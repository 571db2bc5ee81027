#include "compiler/target/targets.h"

#include <array>

#include "blob/names.h"
#include "compiler/ir/graph.h"
#include "compiler/target/cpu/cpu_target.h"
#include "compiler/target/npu/npu_target.h"
#include "compiler/target/reference/reference_target.h"

namespace firn::target {

llvm::StringRef Target::name() const {
  const std::string_view name = blob::targetName(number);
  return {name.data(), name.size()};
}

std::string Target::whyNot(mlir::Operation* op) const {
  auto rule = rules.find(op->getName().getStringRef());
  if (rule == rules.end()) return "it has no kernel for it";
  return rule->second.whyNot != nullptr ? rule->second.whyNot(op) : "";
}

llvm::ArrayRef<const Target*> allTargets() {
  // One line per target.
  static const std::array kTargets = {
      &cpuTarget(), &referenceTarget(),
      &npuTarget(),  // last: what others refuse goes to the first that can, and this one needs a machine file
  };
  return kTargets;
}

const Target* findTarget(llvm::StringRef name) {
  auto known = llvm::find_if(allTargets(), [&](const Target* target) { return target->name() == name; });
  return known == allTargets().end() ? nullptr : *known;
}

const Target* targetOf(mlir::Operation* func) {
  auto device = func->getAttrOfType<mlir::StringAttr>(graph::kDeviceAttr);
  return device ? findTarget(device.getValue()) : nullptr;
}

bool needsMachine(mlir::Operation* func) {
  const Target* target = targetOf(func);
  return target != nullptr && target->needsMachine;
}

}  // namespace firn::target
