#include "kernels/quant/group_split.h"

#include <cassert>

#include "kernels/quant/group_planes.h"

namespace firn::quant {
namespace {

/// A format, and the bits of its codes in the source.
struct Source {
  uint32_t codeBits;
  GroupFormat format;

  uint64_t codesOffset() const { return (format.hasMins ? 2 : 1) * sizeof(uint16_t); }
  uint64_t blockBytes() const { return codesOffset() + uint64_t{codeBits} * kGroup / 8; }
};

/// Codes of 5 bits become bytes: a matrix unit has no type between 4 and 8 bits. A byte is signed, so the 16 of q5_0 is
/// taken off when a row is split.
std::optional<Source> sourceOf(DType type) {
  switch (type) {
    case DType::kQ4_0: return Source{4, {.bits = 4, .zero = 8}};
    case DType::kQ4_1: return Source{4, {.bits = 4, .hasMins = true}};
    case DType::kQ5_0: return Source{5, {.bits = 8}};
    case DType::kQ5_1: return Source{5, {.bits = 8, .hasMins = true}};
    case DType::kQ8_0: return Source{8, {.bits = 8}};
    case DType::kQ4_K:  // scales of two levels, whose product is no f16
    case DType::kQ5_K:
    case DType::kQ6_K: return std::nullopt;
    case DType::kF32:  // no codes
    case DType::kF16:
    case DType::kBf16:
    case DType::kI32:
    case DType::kI8:
    case DType::kU8: return std::nullopt;
  }
  return std::nullopt;
}

/// The codes of a block as the plane holds them, one a byte.
GroupCodes codesOf(const Source& source, const std::byte* codes) {
  if (source.codeBits == 4) return codesOf4Bits(codes);
  if (source.codeBits == 8) return loadAs<GroupCodes>(codes);
  GroupCodes five = codesOf5Bits(codes);
  const uint8_t zero = source.format.hasMins ? 0 : 16;
  for (uint8_t& code : five) code = static_cast<uint8_t>(code - zero);
  return five;
}

void putGroup(const GroupCodes& codes, uint32_t bits, std::byte* out) {
  if (bits == 8) return storeAs(out, codes);
  for (uint32_t j = 0; j < kGroup / 2; ++j) out[j] = static_cast<std::byte>(codes[2 * j] | codes[2 * j + 1] << 4);
}

}  // namespace

std::optional<GroupFormat> groupFormat(DType type) {
  const std::optional<Source> source = sourceOf(type);
  return source ? std::optional(source->format) : std::nullopt;
}

void splitRow(DType type, std::span<const std::byte> row, uint64_t columns, const SplitPlanes& planes) {
  const std::optional<Source> source = sourceOf(type);
  assert(source && columns % kGroup == 0 && row.size() >= columns / kGroup * source->blockBytes());
  const uint64_t groupBytes = source->format.codeBytes(kGroup);
  for (uint64_t g = 0; g < columns / kGroup; ++g) {
    const std::byte* block = row.data() + g * source->blockBytes();
    if (!planes.scales.empty()) storeAs(&planes.scales[2 * g], loadAs<uint16_t>(block));
    if (!planes.mins.empty()) storeAs(&planes.mins[2 * g], loadAs<uint16_t>(block + 2));
    if (planes.codes.empty()) continue;
    putGroup(codesOf(*source, block + source->codesOffset()), source->format.bits, &planes.codes[g * groupBytes]);
  }
}

}  // namespace firn::quant
