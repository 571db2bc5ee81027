#include "runtime/instruction_set.h"

#include <optional>

#include "base/concat.h"

namespace firn::runtime {

Result<cpu::InstructionSet> instructionSetOf(const DeviceOptions& options) {
  const cpu::InstructionSet best = cpu::bestInstructionSet();
  if (options.instructionSet.empty()) return best;
  const std::optional<cpu::InstructionSet> asked = cpu::instructionSetFromName(options.instructionSet);
  if (!asked) {
    return invalidArgument(
        concat("instruction set \"", options.instructionSet, "\" is unknown; known: portable, avx2, avx512"));
  }
  if (cpu::isSupported(*asked)) return *asked;
  return unsupported(
      concat("this machine has no ", options.instructionSet, "; its best is ", cpu::instructionSetName(best)));
}

}  // namespace firn::runtime
