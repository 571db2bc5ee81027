// The one table of what a machine file holds: the parser walks it, tests hold the schema and docs/npu.md against it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "blob/machine/machine.h"

namespace firn::machine {

struct SourceText {};   ///< goes to Machine::sources
struct GridList {};     ///< goes to Machine::grids
struct KernelTable {};  ///< goes to Machine::kernels

/// One value of a machine file.
struct Field {
  std::string_view section;  ///< the object it stands in; "" for the outermost one
  std::string_view name;
  uint64_t low = 0;   ///< the least number (in a grid or cost line: each number), or the fewest bytes of a text
  uint64_t high = 0;  ///< the largest
  std::variant<uint32_t Machine::*, uint64_t Machine::*, double Energy::*, std::string Machine::*, SourceText, GridList,
               KernelTable>
      into;
};

/// Every field, section after section.
std::span<const Field> machineFields();

/// The only section that may be left out.
inline constexpr std::string_view kOptionalSection = "energy";
inline constexpr size_t kMostGrids = 16;

/// "dpu.start_cycles".
std::string fieldPath(const Field& field);

}  // namespace firn::machine
