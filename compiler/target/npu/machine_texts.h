// The machine files that are part of the compiler, as text: defined in a source that the build writes from
// compiler/target/npu/machines/. Only for machine_files.cc.
#pragma once

#include <span>
#include <string_view>

namespace firn::npu {

struct MachineText {
  std::string_view name;
  std::string_view json;
};

/// Sorted by name.
std::span<const MachineText> builtInMachines();

}  // namespace firn::npu
