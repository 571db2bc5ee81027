#include "compiler/import/architecture_keys.h"

#include <algorithm>
#include <cmath>

#include "base/quote.h"
#include "base/real_text.h"

namespace firn::import {
namespace {

// A scalar of any number type as a double; nullopt for strings and arrays.
std::optional<double> asNumber(const GgufValue& value) {
  if (value.isArray()) return std::nullopt;
  if (const std::optional<bool> truth = value.boolean()) return *truth ? 1.0 : 0.0;
  if (const std::optional<double> real = value.floatAt(0)) return real;
  if (const std::optional<uint64_t> integer = value.unsignedAt(0)) return static_cast<double>(*integer);
  if (const std::optional<int64_t> integer = value.signedAt(0)) return static_cast<double>(*integer);
  return std::nullopt;
}

}  // namespace

Status ArchitectureKeys::corruptKey(std::string_view suffix, const std::string& what) const {
  return corrupt(file_.path() + ": key " + quoted(key(suffix)) + " " + what);
}

Status ArchitectureKeys::unsupportedKey(std::string_view suffix, const std::string& what) const {
  return unsupported(file_.path() + ": key " + quoted(key(suffix)) + " " + what);
}

// `source` says where the value of an absent key is from; it is empty for a key that is there.
Result<uint32_t> ArchitectureKeys::inRange(std::string_view suffix, uint64_t value, uint32_t most,
                                           std::string_view source) const {
  if (value >= 1 && value <= most) return static_cast<uint32_t>(value);
  const std::string found = source.empty() ? "is " : "is missing, and " + std::string(source) + " gives ";
  return corruptKey(suffix, found + std::to_string(value) + ", expected 1 to " + std::to_string(most));
}

Result<uint32_t> ArchitectureKeys::count(std::string_view suffix, uint32_t most,
                                         std::optional<Derived> fallback) const {
  FIRN_ASSIGN_OR_RETURN(const std::optional<uint64_t> value, file_.getU64(key(suffix)));
  if (value) return inRange(suffix, *value, most, {});
  if (fallback) return inRange(suffix, fallback->value, most, fallback->source);
  return corruptKey(suffix, "is missing");
}

Result<uint32_t> ArchitectureKeys::layerCount(std::string_view suffix, uint32_t layers, uint32_t most,
                                              std::optional<Derived> fallback) const {
  const GgufValue* value = file_.find(key(suffix));
  if (value == nullptr || !value->isArray()) return count(suffix, most, fallback);
  if (value->count != layers) {
    return corruptKey(suffix, "has " + std::to_string(value->count) + " values, expected one for each of the " +
                                  std::to_string(layers) + " layers");
  }
  const std::optional<uint64_t> first = value->unsignedAt(0);
  if (!first) return corruptKey(suffix, "is an array, expected one of integers from 0");
  for (uint64_t i = 1; i < value->count; ++i) {
    const std::optional<uint64_t> here = value->unsignedAt(i);
    if (!here) return corruptKey(suffix, "is an array, expected one of integers from 0");
    if (here != first) {
      return unsupportedKey(suffix, "is " + std::to_string(*first) + " in layer 0 and " + std::to_string(*here) +
                                        " in layer " + std::to_string(i) + ": layers that differ are not supported");
    }
  }
  return inRange(suffix, *first, most, {});
}

Result<double> ArchitectureKeys::real(std::string_view suffix, RealRange range, std::optional<double> fallback) const {
  FIRN_ASSIGN_OR_RETURN(std::optional<double> value, file_.getFloat(key(suffix)));
  if (!value) value = fallback;
  if (!value) return corruptKey(suffix, "is missing");
  // In fp32 too, where the model is computed: 1e-300 is 0 there.
  const auto rounded = static_cast<double>(static_cast<float>(*value));
  if (!std::isfinite(*value) || std::min(*value, rounded) <= range.above || *value > range.most) {
    return corruptKey(suffix, "is " + realText(*value) + ", expected a number that is above " + realText(range.above) +
                                  " in f32 and at most " + realText(range.most));
  }
  return *value;
}

Result<std::optional<std::string_view>> ArchitectureKeys::text(std::string_view suffix) const {
  return file_.getString(key(suffix));
}

Status ArchitectureKeys::refuse(std::span<const RefusedKey> keys) const {
  for (const RefusedKey& refused : keys) {
    const GgufValue* value = file_.find(key(refused.suffix));
    if (value == nullptr) continue;
    const std::optional<double> number = asNumber(*value);
    if (number == refused.neutral || number == refused.alsoNeutral) continue;
    return unsupportedKey(refused.suffix, "is " + (number ? realText(*number) : "set") + ": " +
                                              std::string(refused.meaning) + " is not supported");
  }
  return Status::ok();
}

}  // namespace firn::import
