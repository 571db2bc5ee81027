#include "blob/elf_symbols.h"

#include <elf.h>

#include <cstring>

#include "base/concat.h"
#include "blob/names.h"

namespace firn::blob {

namespace {

class SymbolTable {
 public:
  SymbolTable() { append(Elf64_Sym{}); }

  /// A symbol at `value` of section number `section`; of SHN_COMMON `value` is the alignment.
  void add(const std::string& name, uint16_t section, uint64_t value, uint64_t bytes) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(symbols_.strtab.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    symbol.st_shndx = section;
    symbol.st_value = value;
    symbol.st_size = bytes;
    symbols_.strtab.append(name).push_back('\0');
    append(symbol);
  }

  ElfSymbols take() && { return std::move(symbols_); }

 private:
  void append(const Elf64_Sym& symbol) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&symbol);
    symbols_.symtab.insert(symbols_.symtab.end(), bytes, bytes + sizeof(symbol));
  }

  ElfSymbols symbols_{.symtab = {}, .strtab = std::string(1, '\0')};
};

}  // namespace

ElfSymbols makeElfSymbols(const ProgramView& program, const Frame& frame) {
  SymbolTable table;
  const uint16_t programIndex = sectionIndex(frame, SectionId::kProgram);
  for (size_t i = 0; i < program.entries.size(); ++i) {
    table.add(std::string(program.string(program.entries[i].name)), programIndex,
              program.header->entries.offset + i * sizeof(EntryRecord), sizeof(EntryRecord));
  }
  for (const EntryRecord& entry : program.entries) {
    for (const SymbolRecord& symbol : program.symbols.subspan(entry.firstSymbol, entry.symbolCount)) {
      table.add(concat(program.string(entry.name), "/", symbolKindName(symbol.kind)), SHN_COMMON, kTensorAlignment,
                symbol.bytes);
    }
  }
  table.add("scratch", SHN_COMMON, kTensorAlignment, program.header->scratchBytes);
  table.add("weights", sectionIndex(frame, SectionId::kWeights), 0, program.header->weightsBytes);
  return std::move(table).take();
}

}  // namespace firn::blob
