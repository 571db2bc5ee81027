// The ELF records of a frame, as the writer makes them and the reader expects them: note header, ELF header, section
// headers. Used by frame.cc alone.
#pragma once

#include <elf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "blob/frame.h"

namespace firn::blob {

/// What is fixed about each section.
struct SectionRule {
  std::string_view name;
  uint32_t type;
  uint64_t flags;
  uint64_t alignment;
  uint64_t entryBytes;
  bool isOptional;
};

/// By SectionId.
extern const std::array<SectionRule, kSectionIds> kSectionRules;

inline constexpr std::string_view kNoteName{"firn\0\0\0\0", 8};  // padded to 4 bytes; its size says 5
inline constexpr uint64_t kNoteBytes = kNoteDescriptorOffset + sizeof(Ident);
static_assert(kNoteDescriptorOffset == sizeof(Elf64_Nhdr) + kNoteName.size());

/// Everything of the note before its descriptor.
std::array<std::byte, kNoteDescriptorOffset> noteHeader();

/// Sections that the frame has, the null section too.
uint32_t presentCount(const Frame& frame);
/// Of a section of `bytes` bytes.
uint64_t alignmentOf(SectionId id, uint64_t bytes);

Elf64_Ehdr elfHeader(const Frame& frame);
/// `nameOffset`: of its name in sectionNames().
Elf64_Shdr sectionHeader(const Frame& frame, SectionId id, uint32_t nameOffset);
/// The content of .shstrtab.
std::string sectionNames(const Frame& frame);

}  // namespace firn::blob
