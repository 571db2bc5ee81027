#include "blob/frame.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/align.h"
#include "base/concat.h"
#include "base/quote.h"
#include "blob/elf_headers.h"

namespace firn::blob {

namespace {

struct HeaderField {
  std::string_view name;
  uint32_t offset;
  uint32_t bytes;
};

#define FIRN_FIELD(record, field) {#field, offsetof(record, field), sizeof(record::field)}
constexpr HeaderField kElfFields[] = {
    FIRN_FIELD(Elf64_Ehdr, e_ident),     FIRN_FIELD(Elf64_Ehdr, e_type),     FIRN_FIELD(Elf64_Ehdr, e_machine),
    FIRN_FIELD(Elf64_Ehdr, e_version),   FIRN_FIELD(Elf64_Ehdr, e_entry),    FIRN_FIELD(Elf64_Ehdr, e_phoff),
    FIRN_FIELD(Elf64_Ehdr, e_shoff),     FIRN_FIELD(Elf64_Ehdr, e_flags),    FIRN_FIELD(Elf64_Ehdr, e_ehsize),
    FIRN_FIELD(Elf64_Ehdr, e_phentsize), FIRN_FIELD(Elf64_Ehdr, e_phnum),    FIRN_FIELD(Elf64_Ehdr, e_shentsize),
    FIRN_FIELD(Elf64_Ehdr, e_shnum),     FIRN_FIELD(Elf64_Ehdr, e_shstrndx),
};
constexpr HeaderField kSectionFields[] = {
    FIRN_FIELD(Elf64_Shdr, sh_name),    FIRN_FIELD(Elf64_Shdr, sh_type),   FIRN_FIELD(Elf64_Shdr, sh_flags),
    FIRN_FIELD(Elf64_Shdr, sh_addr),    FIRN_FIELD(Elf64_Shdr, sh_offset), FIRN_FIELD(Elf64_Shdr, sh_size),
    FIRN_FIELD(Elf64_Shdr, sh_link),    FIRN_FIELD(Elf64_Shdr, sh_info),   FIRN_FIELD(Elf64_Shdr, sh_addralign),
    FIRN_FIELD(Elf64_Shdr, sh_entsize),
};
#undef FIRN_FIELD

/// Compares two headers of the same kind field by field.
Status compareFields(std::span<const HeaderField> fields, const void* found, const void* expected,
                     std::string_view where) {
  for (const HeaderField& field : fields) {
    const auto* a = static_cast<const char*>(found) + field.offset;
    const auto* b = static_cast<const char*>(expected) + field.offset;
    if (std::memcmp(a, b, field.bytes) == 0) continue;
    if (field.bytes > 8) return corrupt(concat(where, ": ", field.name, " is not that of a firn blob"));
    uint64_t foundValue = 0;
    uint64_t expectedValue = 0;
    std::memcpy(&foundValue, a, field.bytes);
    std::memcpy(&expectedValue, b, field.bytes);
    return corrupt(concat(where, ": ", field.name, " is ", foundValue, ", expected ", expectedValue));
  }
  return Status::ok();
}

template <typename Record>
Record readRecord(std::span<const std::byte> bytes, uint64_t offset) {
  Record record;
  std::memcpy(&record, bytes.data() + offset, sizeof(Record));
  return record;
}

/// The ELF header and the number of section headers, as far as needed to find the sections at all.
Result<std::vector<Elf64_Shdr>> readSectionHeaders(std::span<const std::byte> head) {
  if (head.size() < kElfHeaderBytes || std::memcmp(head.data(), ELFMAG, SELFMAG) != 0) {
    return corrupt(
        head.size() < kElfHeaderBytes
            ? concat("the file has ", head.size(), " bytes, too few for an ELF header (64)")
            : "not a firn blob: no ELF magic at the start of the file; of a GGUF model, firn compile makes one");
  }
  const auto header = readRecord<Elf64_Ehdr>(head, 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return corrupt("not a firn blob: expected a 64-bit little-endian ELF file");
  }
  if (header.e_shoff != kElfHeaderBytes || header.e_shentsize != sizeof(Elf64_Shdr)) {
    return corrupt(concat("ELF header: section headers of ", header.e_shentsize, " bytes at ", header.e_shoff,
                          ", expected 64 bytes at 64; not a firn blob"));
  }
  const uint64_t count = header.e_shnum;
  if (count < 2 || kElfHeaderBytes + count * sizeof(Elf64_Shdr) > head.size()) {
    return corrupt(concat("ELF header: ", count, " section headers do not fit in ", head.size(), " bytes"));
  }
  std::vector<Elf64_Shdr> sections(count);
  std::memcpy(sections.data(), head.data() + kElfHeaderBytes, count * sizeof(Elf64_Shdr));
  return sections;
}

bool liesIn(const Elf64_Shdr& section, uint64_t bytes) {
  return section.sh_offset <= bytes && section.sh_size <= bytes - section.sh_offset;
}

std::string_view nameOf(const Elf64_Shdr& section, std::string_view names) {
  if (section.sh_name >= names.size()) return {};
  const std::string_view rest = names.substr(section.sh_name);
  const size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

/// Which sections there are and how large: everything else of the frame follows from it.
Result<Frame> findSections(std::span<const std::byte> outside) {
  FIRN_ASSIGN_OR_RETURN(const std::vector<Elf64_Shdr> sections, readSectionHeaders(outside));
  const auto header = readRecord<Elf64_Ehdr>(outside, 0);
  if (header.e_shstrndx >= sections.size() || !liesIn(sections[header.e_shstrndx], outside.size())) {
    return corrupt(concat("ELF header: e_shstrndx ", header.e_shstrndx, " is no section inside the file"));
  }
  const Elf64_Shdr& table = sections[header.e_shstrndx];
  const std::string_view names(reinterpret_cast<const char*>(outside.data()) + table.sh_offset, table.sh_size);
  Frame frame;
  frame.place(SectionId::kNull).present = true;
  uint32_t id = 1;
  for (size_t i = 1; i < sections.size(); ++i, ++id) {
    const std::string_view name = nameOf(sections[i], names);
    while (id < kSectionIds && kSectionRules[id].name != name && kSectionRules[id].isOptional) ++id;
    if (id >= kSectionIds || kSectionRules[id].name != name) {
      const std::string expected =
          id < kSectionIds ? concat("section ", kSectionRules[id].name) : std::string("no section behind the weights");
      return corrupt(concat("section header ", i, ": is named ", quoted(name), ", expected ", expected));
    }
    const bool isAbsent = id == static_cast<uint32_t>(SectionId::kWeights) && sections[i].sh_type == SHT_NOBITS;
    frame.sections[id] = {.offset = 0, .bytes = sections[i].sh_size, .present = true, .hasBytes = !isAbsent};
  }
  while (id < kSectionIds && kSectionRules[id].isOptional) ++id;
  if (id != kSectionIds) return corrupt(concat("section ", kSectionRules[id].name, " is missing"));
  return frame;
}

Status checkZero(std::span<const std::byte> outside, uint64_t from, uint64_t to, std::string_view before) {
  const auto gap = outside.subspan(from, to - from);
  if (gap.empty() || (gap[0] == std::byte{0} && std::memcmp(gap.data(), gap.data() + 1, gap.size() - 1) == 0)) {
    return Status::ok();
  }
  const auto bad = std::ranges::find_if(gap, [](std::byte b) { return b != std::byte{0}; });
  return corrupt(concat("byte ", from + static_cast<uint64_t>(bad - gap.begin()), ": the padding before ", before,
                        " is not zero"));
}

Status checkPadding(std::span<const std::byte> outside, const Frame& frame) {
  uint64_t at = kElfHeaderBytes + presentCount(frame) * kSectionHeaderBytes;
  for (uint32_t i = 1; i < kSectionIds; ++i) {
    const SectionPlace& place = frame.sections[i];
    if (!place.present) continue;
    FIRN_RETURN_IF_ERROR(checkZero(outside, at, place.offset, kSectionRules[i].name));
    at = place.offset + place.bytes;
  }
  return Status::ok();
}

Status checkHeaders(std::span<const std::byte> outside, const Frame& frame) {
  const auto found = readRecord<Elf64_Ehdr>(outside, 0);
  const Elf64_Ehdr expected = elfHeader(frame);
  FIRN_RETURN_IF_ERROR(compareFields(kElfFields, &found, &expected, "ELF header"));
  const std::string names = sectionNames(frame);
  uint32_t nameOffset = 0;
  uint64_t at = kElfHeaderBytes;
  for (uint32_t i = 0; i < kSectionIds; ++i) {
    if (!frame.sections[i].present) continue;
    const auto section = readRecord<Elf64_Shdr>(outside, at);
    const Elf64_Shdr wanted = sectionHeader(frame, static_cast<SectionId>(i), nameOffset);
    FIRN_RETURN_IF_ERROR(compareFields(kSectionFields, &section, &wanted,
                                       concat("section header ", i == 0 ? "0" : kSectionRules[i].name)));
    nameOffset += static_cast<uint32_t>(kSectionRules[i].name.size() + 1);
    at += kSectionHeaderBytes;
  }
  return Status::ok();
}

Status checkSizes(const Frame& frame, uint64_t outsideBytes, uint64_t fileBytes) {
  for (uint32_t i = 1; i < kSectionIds; ++i) {
    const SectionPlace& place = frame.sections[i];
    if (!place.present) continue;
    const bool isWeights = static_cast<SectionId>(i) == SectionId::kWeights;
    const uint64_t limit = !isWeights ? outsideBytes : place.hasBytes ? fileBytes : kMaxAbsentWeights;
    if (place.bytes > limit) {
      return corrupt(
          concat("section header ", kSectionRules[i].name, ": ", place.bytes, " bytes, but there are only ", limit));
    }
    if (place.bytes == 0 && kSectionRules[i].isOptional) {
      return corrupt(concat("section ", kSectionRules[i].name, " is empty: expected none"));
    }
  }
  return Status::ok();
}

/// The bytes before the weights, if they are not too many.
Result<uint64_t> checkOutsideBytes(uint64_t bytes) {
  if (bytes <= kMaxOutsideBytes) return bytes;
  return unsupported(concat("the part outside the weights has ", bytes, " bytes, the limit is ", kMaxOutsideBytes));
}

}  // namespace

std::string_view sectionName(SectionId id) {
  return static_cast<uint32_t>(id) < kSectionIds ? kSectionRules[static_cast<uint32_t>(id)].name : std::string_view{};
}

uint16_t sectionIndex(const Frame& frame, SectionId id) {
  uint16_t index = 0;
  for (uint32_t i = 0; i < static_cast<uint32_t>(id); ++i) index += frame.sections[i].present ? 1 : 0;
  return index;
}

void placeSections(Frame& frame) {
  frame.place(SectionId::kNote).bytes = kNoteBytes;
  for (uint32_t i = 0; i < kSectionIds; ++i) {
    if (!kSectionRules[i].isOptional) frame.sections[i].present = true;
  }
  frame.place(SectionId::kShstrtab).bytes = sectionNames(frame).size();
  uint64_t at = kElfHeaderBytes + presentCount(frame) * kSectionHeaderBytes;
  for (uint32_t i = 1; i < kSectionIds; ++i) {
    SectionPlace& place = frame.sections[i];
    if (!place.present) continue;
    place.offset = roundUp(at, alignmentOf(static_cast<SectionId>(i), place.bytes));
    at = place.offset + place.bytes;
  }
}

std::span<const std::byte> sectionBytes(std::span<const std::byte> outside, const Frame& frame, SectionId id) {
  const SectionPlace& place = frame.place(id);
  return outside.subspan(place.offset, place.bytes);
}

std::string_view sectionText(std::span<const std::byte> outside, const Frame& frame, SectionId id) {
  const auto bytes = sectionBytes(outside, frame, id);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void writeFrame(const Frame& frame, std::span<std::byte> outside) {
  const Elf64_Ehdr header = elfHeader(frame);
  std::memcpy(outside.data(), &header, sizeof(header));
  const std::string names = sectionNames(frame);
  uint32_t nameOffset = 0;
  uint64_t at = kElfHeaderBytes;
  for (uint32_t i = 0; i < kSectionIds; ++i) {
    if (!frame.sections[i].present) continue;
    const Elf64_Shdr section = sectionHeader(frame, static_cast<SectionId>(i), nameOffset);
    std::memcpy(outside.data() + at, &section, sizeof(section));
    nameOffset += static_cast<uint32_t>(kSectionRules[i].name.size() + 1);
    at += kSectionHeaderBytes;
  }
  std::memcpy(outside.data() + frame.place(SectionId::kShstrtab).offset, names.data(), names.size());
  const auto note = noteHeader();
  std::memcpy(outside.data() + frame.place(SectionId::kNote).offset, note.data(), note.size());
}

Result<uint64_t> probeOutsideBytes(std::span<const std::byte> head, uint64_t fileBytes) {
  FIRN_ASSIGN_OR_RETURN(const std::vector<Elf64_Shdr> sections, readSectionHeaders(head));
  const Elf64_Shdr& weights = sections.back();
  if (weights.sh_type == SHT_NOBITS && weights.sh_offset != fileBytes) {
    return corrupt(
        concat("the weights are left out (their section has no bits), so the file ends where they would "
               "begin, at ",
               weights.sh_offset, ", but it has ", fileBytes, " bytes"));
  }
  if (weights.sh_type == SHT_NOBITS) return checkOutsideBytes(weights.sh_offset);
  if (!liesIn(weights, fileBytes) || weights.sh_offset + weights.sh_size != fileBytes) {
    return corrupt(concat("the file has ", fileBytes, " bytes, but its last section has ", weights.sh_size,
                          " bytes at ", weights.sh_offset, ": the file is truncated or longer than it was"));
  }
  return checkOutsideBytes(weights.sh_offset);
}

Result<Ident> readIdent(std::span<const std::byte> outside) {
  FIRN_ASSIGN_OR_RETURN(const std::vector<Elf64_Shdr> sections, readSectionHeaders(outside));
  const auto isNote = [](const Elf64_Shdr& section) { return section.sh_type == SHT_NOTE; };
  const auto section = std::ranges::find_if(sections, isNote);
  if (section == sections.end() || !liesIn(*section, outside.size()) || section->sh_size < kNoteBytes) {
    return corrupt("no identification note (section .note.firn): not a firn blob, or a damaged one");
  }
  const auto note = outside.subspan(section->sh_offset, section->sh_size);
  if (std::memcmp(note.data() + sizeof(Elf64_Nhdr), kNoteName.data(), kNoteName.size()) != 0) {
    return corrupt("section .note.firn: the note's name is not \"firn\"");
  }
  const auto ident = readRecord<Ident>(note, kNoteDescriptorOffset);
  if (ident.formatMajor != kFormatMajor || ident.formatMinor != kFormatMinor) {
    return versionMismatch(concat("the blob has format version ", ident.formatMajor, ".", ident.formatMinor,
                                  ", this firn reads ", kFormatMajor, ".", kFormatMinor, ": compile the model again"));
  }
  return ident;
}

Result<Frame> readFrame(std::span<const std::byte> outside, uint64_t fileBytes) {
  FIRN_ASSIGN_OR_RETURN(Frame frame, findSections(outside));
  FIRN_RETURN_IF_ERROR(checkSizes(frame, outside.size(), fileBytes));
  Frame placed = frame;
  placeSections(placed);
  FIRN_RETURN_IF_ERROR(checkHeaders(outside, placed));
  const SectionPlace& weights = placed.place(SectionId::kWeights);
  if (weights.offset != outside.size() || placed.fileBytes() != fileBytes) {
    return corrupt(concat("the file has ", fileBytes, " bytes, its sections end at ", placed.fileBytes()));
  }
  const auto note = noteHeader();
  if (std::memcmp(outside.data() + placed.place(SectionId::kNote).offset, note.data(), note.size()) != 0) {
    return corrupt("section .note.firn: the header of the note is not that of a firn blob");
  }
  FIRN_RETURN_IF_ERROR(checkPadding(outside, placed));
  return placed;
}

Hash128 contentHashOf(std::span<const std::byte> outside, const Frame& frame) {
  const uint64_t at = frame.place(SectionId::kNote).offset + kNoteDescriptorOffset + offsetof(Ident, contentHash);
  constexpr std::array<std::byte, sizeof(Hash128)> kZero{};
  Hasher128 hasher;
  hasher.update(outside.first(at));
  hasher.update(kZero);
  hasher.update(outside.subspan(at + kZero.size()));
  return hasher.digest();
}

Status sealContent(std::span<std::byte> file) {
  FIRN_ASSIGN_OR_RETURN(const uint64_t outsideBytes, probeOutsideBytes(file, file.size()));
  const auto outside = file.first(outsideBytes);
  FIRN_ASSIGN_OR_RETURN(const Frame frame, readFrame(outside, file.size()));
  const Hash128 hash = contentHashOf(outside, frame);
  const uint64_t at = frame.place(SectionId::kNote).offset + kNoteDescriptorOffset + offsetof(Ident, contentHash);
  std::memcpy(file.data() + at, &hash, sizeof(hash));
  return Status::ok();
}

}  // namespace firn::blob
