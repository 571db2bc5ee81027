#include "compiler/import/window_import.h"

#include <limits>
#include <string>

#include "compiler/import/decoder_refusals.h"
#include "compiler/import/rope_import.h"

namespace firn::import {
namespace {

constexpr std::string_view kWindow = "attention.sliding_window";
constexpr std::string_view kPattern = "attention.sliding_window_pattern";
constexpr uint32_t kMostWindow = std::numeric_limits<int32_t>::max();
constexpr uint32_t kMostPeriod = 1U << 16;

// A window as wide as the context limits nothing.
Status refuseWindow(const ArchitectureKeys& keys, uint64_t window, const ModelSpec& spec) {
  if (window == 0 || (spec.trainedContext > 0 && window >= spec.trainedContext)) return Status::ok();
  return keys.unsupportedKey(kWindow, "is " + std::to_string(window) + ", less than the context of " +
                                          std::to_string(spec.trainedContext) +
                                          " tokens: sliding-window attention is not supported in this architecture");
}

// One truth value for each layer: true where it has the window.
Status readPattern(const ArchitectureKeys& keys, const GgufValue& value, uint32_t window, ModelSpec* spec) {
  if (value.count != spec->layers.size()) {
    return keys.corruptKey(kPattern, "has " + std::to_string(value.count) + " values, expected one for each of the " +
                                         std::to_string(spec->layers.size()) + " layers");
  }
  for (size_t i = 0; i < spec->layers.size(); ++i) {
    const std::optional<uint64_t> isWindowed =
        value.element == GgufType::kBool ? loadLittle<uint8_t>(value.payload.data() + i) : value.unsignedAt(i);
    if (!isWindowed || *isWindowed > 1) return keys.corruptKey(kPattern, "is an array, expected one of 0 and 1");
    spec->layers[i].window = *isWindowed == 1 ? window : 0;
  }
  return Status::ok();
}

Status setWindows(const ArchitectureKeys& keys, const GgufFile& file, uint32_t window, uint32_t period,
                  ModelSpec* spec) {
  const GgufValue* pattern = file.find(keys.key(kPattern));
  if (pattern != nullptr && pattern->isArray()) return readPattern(keys, *pattern, window, spec);
  if (pattern != nullptr) {
    FIRN_ASSIGN_OR_RETURN(period, keys.count(kPattern, kMostPeriod));
  }
  for (size_t i = 0; i < spec->layers.size(); ++i) {
    const bool seesAll = period != 0 && (i + 1) % period == 0;
    spec->layers[i].window = seesAll ? 0 : window;
  }
  return Status::ok();
}

}  // namespace

Status importWindows(const ArchitectureKeys& keys, const GgufFile& file, const DecoderTraits& traits, ModelSpec* spec) {
  const bool hasOwnRope = traits.window && traits.window->ropeBase > 0;
  if (!hasOwnRope) FIRN_RETURN_IF_ERROR(keys.refuse(kRefusedWindowRopeKeys));
  FIRN_ASSIGN_OR_RETURN(const std::optional<uint64_t> window, file.getU64(keys.key(kWindow)));
  if (!traits.window) return refuseWindow(keys, window.value_or(0), *spec);
  if (traits.window->isRequired) {
    FIRN_RETURN_IF_ERROR(keys.count(kWindow, kMostWindow).status());
  }
  if (window.value_or(0) == 0) return Status::ok();
  if (*window > kMostWindow) {
    return keys.corruptKey(kWindow,
                           "is " + std::to_string(*window) + ", expected at most " + std::to_string(kMostWindow));
  }
  FIRN_RETURN_IF_ERROR(setWindows(keys, file, static_cast<uint32_t>(*window), traits.window->period, spec));
  if (!hasOwnRope) return Status::ok();
  FIRN_ASSIGN_OR_RETURN(spec->windowRope, importWindowRope(keys, *spec, traits.window->ropeBase));
  spec->windowRope->pairing = traits.pairing;
  return Status::ok();
}

}  // namespace firn::import
