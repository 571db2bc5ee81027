// The ELF symbol table of a blob, made from its program so that readelf and objdump can name things. Devices do not use
// it: SymbolRecord is what counts.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "blob/frame.h"
#include "blob/program_view.h"

namespace firn::blob {

/// Contents of .symtab and .strtab.
struct ElfSymbols {
  std::vector<std::byte> symtab;  ///< Elf64_Sym records, the null symbol first
  std::string strtab;
};

/// One symbol per entry (its record in .firn.program), then per entry one common symbol `<entry>/<symbol>` with the
/// size of what must be bound, then `scratch` and `weights`. `frame` must have its sections marked present.
ElfSymbols makeElfSymbols(const ProgramView& program, const Frame& frame);

}  // namespace firn::blob
