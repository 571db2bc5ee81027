// The ELF frame of a blob: which sections there are and where they lie. Used by the writer (to lay them out) and the
// reader (to find and check them). Not here: what the sections hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "blob/layout.h"

namespace firn::blob {

/// Sections in file order; the weights are last, so that "outside the weights" is the head of the file.
enum class SectionId : uint32_t {
  kNull = 0,
  kNote,
  kProgram,
  kCard,
  kTokenizer,
  kTemplate,
  kMachine,
  kSymtab,
  kStrtab,
  kShstrtab,
  kWeights,
};
inline constexpr uint32_t kSectionIds = 11;

/// The ELF name of a section; empty for kNull.
std::string_view sectionName(SectionId id);

/// Byte range of a section in the file; absent ones have offset 0 and bytes 0.
struct SectionPlace {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool present = false;
  bool hasBytes = true;  ///< false: weights that were left out, of `bytes` bytes, none of which is in the file
};

/// Where everything lies.
struct Frame {
  std::array<SectionPlace, kSectionIds> sections{};

  const SectionPlace& place(SectionId id) const { return sections[static_cast<uint32_t>(id)]; }
  SectionPlace& place(SectionId id) { return sections[static_cast<uint32_t>(id)]; }
  /// Bytes of the file before the weights.
  uint64_t outsideBytes() const { return place(SectionId::kWeights).offset; }
  /// Bytes of the whole file.
  uint64_t fileBytes() const {
    return outsideBytes() + (place(SectionId::kWeights).hasBytes ? place(SectionId::kWeights).bytes : 0);
  }
};

/// The bytes of a section of `outside` that is not the weights; empty for one that is absent.
std::span<const std::byte> sectionBytes(std::span<const std::byte> outside, const Frame& frame, SectionId id);
/// The same as text.
std::string_view sectionText(std::span<const std::byte> outside, const Frame& frame, SectionId id);

/// Weights that are left out may have this many bytes at most; others have no more than the file.
inline constexpr uint64_t kMaxAbsentWeights = 1ULL << 48;

/// The part outside the weights may have this many bytes at most: what a reader copies before it can check the hash.
inline constexpr uint64_t kMaxOutsideBytes = 512ULL << 20;
/// Bytes of the ELF header, and of one section header.
inline constexpr uint64_t kElfHeaderBytes = 64;
inline constexpr uint64_t kSectionHeaderBytes = 64;
/// Where the descriptor (Ident) starts inside the note section.
inline constexpr uint64_t kNoteDescriptorOffset = 20;

/// The number of a section among those that are present: how ELF names it.
uint16_t sectionIndex(const Frame& frame, SectionId id);

/// Sets the offsets of `frame` from its sizes and presence: sections in order, each aligned as layout.h says.
/// kNull, symtab, strtab, shstrtab, note, program, card and weights are always present.
void placeSections(Frame& frame);

/// Writes ELF header, section headers and section names into `outside` (frame.outsideBytes() zeroed bytes).
void writeFrame(const Frame& frame, std::span<std::byte> outside);

/// How much of a file of `fileBytes` bytes lies before its weights, from its first bytes (ELF header and section
/// headers; at least min(fileBytes, kFrameProbeBytes) of them). Checks only what it needs.
Result<uint64_t> probeOutsideBytes(std::span<const std::byte> head, uint64_t fileBytes);
inline constexpr uint64_t kFrameProbeBytes = kElfHeaderBytes + kSectionIds * kSectionHeaderBytes;

/// Finds the note in `outside` and checks its version alone (version_mismatch names both), before anything else of the
/// format is relied on. `outside` holds the file before the weights.
Result<Ident> readIdent(std::span<const std::byte> outside);

/// Checks every field of the ELF header, of the section headers and names, and that all padding is zero.
/// `fileBytes` is the size of the whole file.
Result<Frame> readFrame(std::span<const std::byte> outside, uint64_t fileBytes);

/// XXH3-128 of `outside` with the 16 bytes of Ident::contentHash as zero.
Hash128 contentHashOf(std::span<const std::byte> outside, const Frame& frame);

/// Sets Ident::contentHash of a blob's bytes to what they are, so that an edited blob passes the hash check again: for
/// tests, fuzzing and tools. The frame must be right: else corrupt or unsupported, as readFrame says, with the file as
/// it was.
Status sealContent(std::span<std::byte> file);

}  // namespace firn::blob
