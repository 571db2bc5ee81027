#include "blob/elf_headers.h"

#include <algorithm>
#include <cstring>

namespace firn::blob {

static_assert(sizeof(Elf64_Ehdr) == kElfHeaderBytes && sizeof(Elf64_Shdr) == kSectionHeaderBytes);

constexpr std::array<SectionRule, kSectionIds> kSectionRules = {{
    {"", SHT_NULL, 0, 0, 0, false},
    {kNoteSection, SHT_NOTE, SHF_ALLOC, 4, 0, false},
    {kProgramSection, SHT_PROGBITS, SHF_ALLOC, kSectionAlignment, 0, false},
    {kCardSection, SHT_PROGBITS, SHF_ALLOC, kSectionAlignment, 0, false},
    {kTokenizerSection, SHT_PROGBITS, SHF_ALLOC, kSectionAlignment, 0, true},
    {kTemplateSection, SHT_PROGBITS, SHF_ALLOC, kSectionAlignment, 0, true},
    {kMachineSection, SHT_PROGBITS, SHF_ALLOC, kSectionAlignment, 0, true},
    {".symtab", SHT_SYMTAB, 0, 8, sizeof(Elf64_Sym), false},
    {".strtab", SHT_STRTAB, 0, 1, 0, false},
    {".shstrtab", SHT_STRTAB, 0, 1, 0, false},
    {kWeightsSection, SHT_PROGBITS, SHF_ALLOC, kSectionAlignment, 0, false},
}};

namespace {

constexpr uint32_t kNoteType = 1;

}  // namespace

std::array<std::byte, kNoteDescriptorOffset> noteHeader() {
  const Elf64_Nhdr header{.n_namesz = 5, .n_descsz = sizeof(Ident), .n_type = kNoteType};
  std::array<std::byte, kNoteDescriptorOffset> bytes{};
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), kNoteName.data(), kNoteName.size());
  return bytes;
}

uint64_t alignmentOf(SectionId id, uint64_t bytes) {
  if (id == SectionId::kWeights && bytes >= kHugeThreshold) return kHugeAlignment;
  return kSectionRules[static_cast<uint32_t>(id)].alignment;
}

uint32_t presentCount(const Frame& frame) {
  return static_cast<uint32_t>(std::ranges::count_if(frame.sections, [](const SectionPlace& p) { return p.present; }));
}

Elf64_Ehdr elfHeader(const Frame& frame) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_NONE;
  header.e_version = EV_CURRENT;
  header.e_shoff = kElfHeaderBytes;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(presentCount(frame));
  header.e_shstrndx = sectionIndex(frame, SectionId::kShstrtab);
  return header;
}

Elf64_Shdr sectionHeader(const Frame& frame, SectionId id, uint32_t nameOffset) {
  Elf64_Shdr header{};
  if (id == SectionId::kNull) return header;
  const SectionRule& rule = kSectionRules[static_cast<uint32_t>(id)];
  const SectionPlace& place = frame.place(id);
  header.sh_name = nameOffset;
  header.sh_type = place.hasBytes ? rule.type : SHT_NOBITS;
  header.sh_flags = rule.flags;
  header.sh_offset = place.offset;
  header.sh_size = place.bytes;
  header.sh_addralign = alignmentOf(id, place.bytes);
  header.sh_entsize = rule.entryBytes;
  if (id == SectionId::kSymtab) {
    header.sh_link = sectionIndex(frame, SectionId::kStrtab);
    header.sh_info = 1;  // index of the first symbol that is not local
  }
  return header;
}

std::string sectionNames(const Frame& frame) {
  std::string names;
  for (uint32_t i = 0; i < kSectionIds; ++i) {
    if (frame.sections[i].present) names.append(kSectionRules[i].name).push_back('\0');
  }
  return names;
}

}  // namespace firn::blob
