#include "compiler/import/gguf_value.h"

#include <array>
#include <limits>

namespace firn::import {
namespace {

struct TypeRow {
  std::string_view name;
  uint32_t bytes;
};

constexpr std::array<TypeRow, kGgufTypes> kRows{{
    {"u8", 1},
    {"i8", 1},
    {"u16", 2},
    {"i16", 2},
    {"u32", 4},
    {"i32", 4},
    {"f32", 4},
    {"bool", 1},
    {"string", 0},
    {"array", 0},
    {"u64", 8},
    {"i64", 8},
    {"f64", 8},
}};

}  // namespace

std::string_view ggufTypeName(GgufType type) { return kRows[static_cast<uint32_t>(type)].name; }
uint32_t ggufTypeBytes(GgufType type) { return kRows[static_cast<uint32_t>(type)].bytes; }

std::optional<int64_t> GgufValue::signedAt(uint64_t index) const {
  if (index >= count) return std::nullopt;
  const std::byte* at = payload.data() + index * ggufTypeBytes(element);
  switch (element) {
    case GgufType::kU8: return loadLittle<uint8_t>(at);
    case GgufType::kI8: return loadLittle<int8_t>(at);
    case GgufType::kU16: return loadLittle<uint16_t>(at);
    case GgufType::kI16: return loadLittle<int16_t>(at);
    case GgufType::kU32: return loadLittle<uint32_t>(at);
    case GgufType::kI32: return loadLittle<int32_t>(at);
    case GgufType::kI64: return loadLittle<int64_t>(at);
    case GgufType::kU64: {
      const auto value = loadLittle<uint64_t>(at);
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    default: return std::nullopt;
  }
}

std::optional<uint64_t> GgufValue::unsignedAt(uint64_t index) const {
  if (element == GgufType::kU64 && index < count) return loadLittle<uint64_t>(payload.data() + index * 8);
  const std::optional<int64_t> value = signedAt(index);
  if (!value || *value < 0) return std::nullopt;
  return static_cast<uint64_t>(*value);
}

std::optional<double> GgufValue::floatAt(uint64_t index) const {
  if (index >= count) return std::nullopt;
  if (element == GgufType::kF32) return loadLittle<float>(payload.data() + index * 4);
  if (element == GgufType::kF64) return loadLittle<double>(payload.data() + index * 8);
  return std::nullopt;
}

std::optional<bool> GgufValue::boolean() const {
  if (type != GgufType::kBool) return std::nullopt;
  return payload[0] != std::byte{0};
}

std::optional<std::string_view> GgufValue::string() const {
  if (type != GgufType::kString) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(payload.data()), payload.size());
}

std::optional<GgufStrings> GgufValue::strings() const {
  if (!isArray() || element != GgufType::kString) return std::nullopt;
  return GgufStrings(payload, count);
}

}  // namespace firn::import
