#include "blob/verifier.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/concat.h"
#include "base/utf8.h"
#include "blob/elf_symbols.h"
#include "blob/names.h"

namespace firn::blob {

namespace {

constexpr uint64_t kMaxCardBytes = 16ULL << 20;
constexpr int kMaxCardDepth = 32;

Status checkIdent(const Ident& ident) {
  if (targetName(ident.target).empty()) {
    return unsupported(
        concat("note: target is ", static_cast<uint32_t>(ident.target), ", expected one of ", targetNames()));
  }
  if (ident.lanes == 0 || ident.lanes > kMaxLanes) {
    return corrupt(concat("note: lanes is ", ident.lanes, ", expected 1..", kMaxLanes));
  }
  return Status::ok();
}

/// Whether JSON text, well formed, nests its objects and arrays at most kMaxCardDepth deep: who prints it may recurse.
bool isShallow(std::string_view json) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (inString) {
      if (c == '\\') ++i;
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxCardDepth) return false;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return true;
}

Status checkTexts(std::span<const std::byte> outside, const Frame& frame) {
  const std::string_view card = sectionText(outside, frame, SectionId::kCard);
  if (card.size() > kMaxCardBytes) {
    return corrupt(concat("section ", kCardSection, ": ", card.size(), " bytes, expected at most ", kMaxCardBytes));
  }
  // The parser takes it as the end of its input, and everything else that reads the card would read on.
  if (const size_t zero = card.find('\0'); zero != std::string_view::npos) {
    return corrupt(concat("section ", kCardSection, ": byte ", zero, " is zero, expected JSON up to the end"));
  }
  if (card.empty() || card.front() != '{' || !nlohmann::json::accept(card)) {
    return corrupt(concat("section ", kCardSection, ": ", card.size(), " bytes that are no JSON object"));
  }
  if (!isShallow(card)) {
    return corrupt(concat("section ", kCardSection, ": nested deeper than ", kMaxCardDepth));
  }
  if (!isUtf8(sectionText(outside, frame, SectionId::kTemplate))) {
    return corrupt(concat("section ", kTemplateSection, ": not UTF-8 text"));
  }
  return Status::ok();
}

/// The symbol table follows from the program, so it must be exactly that.
Status checkElfSymbols(std::span<const std::byte> outside, const Frame& frame, const ProgramView& program) {
  const ElfSymbols expected = makeElfSymbols(program, frame);
  const auto symtab = sectionBytes(outside, frame, SectionId::kSymtab);
  if (symtab.size() != expected.symtab.size() ||
      std::memcmp(symtab.data(), expected.symtab.data(), symtab.size()) != 0) {
    return corrupt("section .symtab: not the symbols of the program");
  }
  if (sectionText(outside, frame, SectionId::kStrtab) != expected.strtab) {
    return corrupt("section .strtab: not the symbol names of the program");
  }
  return Status::ok();
}

}  // namespace

Hash128 machineHashOf(std::string_view machine) {
  return machine.empty() ? Hash128{} : hash128(std::as_bytes(std::span(machine)));
}

Result<VerifiedOutside> verifyOutside(std::span<const std::byte> outside, uint64_t fileBytes) {
  VerifiedOutside verified;
  FIRN_ASSIGN_OR_RETURN(verified.ident, readIdent(outside));
  FIRN_ASSIGN_OR_RETURN(verified.frame, readFrame(outside, fileBytes));
  const Hash128 hash = contentHashOf(outside, verified.frame);
  if (hash != verified.ident.contentHash) {
    return corrupt(concat("the bytes outside the weights have hash ", toHex(hash), ", the note says ",
                          toHex(verified.ident.contentHash), ": the file is damaged, compile the model again"));
  }
  FIRN_RETURN_IF_ERROR(checkIdent(verified.ident));
  if (!verified.frame.place(SectionId::kWeights).hasBytes && verified.ident.weightsHash != Hash128{}) {
    return corrupt(concat("note: weightsHash is ", toHex(verified.ident.weightsHash),
                          ", expected zeros: the weights are left out"));
  }
  FIRN_RETURN_IF_ERROR(checkTexts(outside, verified.frame));
  FIRN_ASSIGN_OR_RETURN(verified.program, viewProgram(sectionBytes(outside, verified.frame, SectionId::kProgram)));
  const ProgramSurroundings around = {verified.frame.place(SectionId::kWeights).bytes,
                                      sectionText(outside, verified.frame, SectionId::kMachine)};
  FIRN_RETURN_IF_ERROR(verifyProgram(verified.program, verified.ident, around));
  FIRN_RETURN_IF_ERROR(checkElfSymbols(outside, verified.frame, verified.program));
  return verified;
}

}  // namespace firn::blob
