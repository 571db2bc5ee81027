#include "compiler/passes/check_spec.h"

#include <cmath>
#include <string>
#include <utility>

#include "base/concat.h"
#include "blob/card_limits.h"

namespace firn::passes {
namespace {

using import::ModelSpec;

// Large enough for any model, small enough that no product of two of these numbers leaves int64.
constexpr uint64_t kMaxDim = INT32_MAX;

Status refuse(const ModelSpec& spec, const char* label, const std::string& text) {
  return unsupported(concat(label, ": ", spec.sourcePath, ": ", text));
}

Status checkNumbers(const ModelSpec& spec) {
  const std::pair<const char*, uint64_t> numbers[] = {
      {"embed", spec.embed},      {"heads", spec.heads}, {"kv_heads", spec.kvHeads},
      {"head_dim", spec.headDim}, {"ffn", spec.ffn},     {"vocab", spec.vocab},
  };
  for (const auto& [name, value] : numbers) {
    if (value >= 1 && value <= kMaxDim) continue;
    return refuse(spec, "graph.import_c1",
                  std::string(name) + " is " + std::to_string(value) + ", expected 1 to " + std::to_string(kMaxDim));
  }
  if (spec.layers.empty() || spec.layers.size() > import::kMaxLayers) {
    return refuse(
        spec, "graph.import_c1",
        "found " + std::to_string(spec.layers.size()) + " layers, expected 1 to " + std::to_string(import::kMaxLayers));
  }
  if (spec.heads % spec.kvHeads != 0) {
    return refuse(
        spec, "graph.import_c1",
        "heads is " + std::to_string(spec.heads) + ", expected a multiple of kv_heads " + std::to_string(spec.kvHeads));
  }
  if (uint64_t{spec.heads} * spec.headDim > kMaxDim) {
    return refuse(spec, "graph.import_c1", "heads x head_dim is above " + std::to_string(kMaxDim));
  }
  for (float number : {spec.normEpsilon, spec.attentionScale, spec.embeddingScale}) {
    if (std::isfinite(number) && number > 0) continue;
    return refuse(spec, "graph.import_c1",
                  "norm epsilon, attention scale or embedding scale is " + std::to_string(number) +
                      ", expected a finite number above 0");
  }
  for (const import::LayerSpec& layer : spec.layers) {
    if (layer.window <= kMaxDim) continue;
    return refuse(spec, "graph.import_c1",
                  "a window is " + std::to_string(layer.window) + ", expected at most " + std::to_string(kMaxDim));
  }
  return Status::ok();
}

Status checkRope(const ModelSpec& spec, const import::RopeSpec& rope) {
  if (rope.dims < 2 || rope.dims % 2 != 0 || rope.dims > spec.headDim || rope.freqs.size() != rope.dims / 2) {
    return refuse(spec, "graph.import_c2",
                  "rope has dims " + std::to_string(rope.dims) + " and " + std::to_string(rope.freqs.size()) +
                      " frequencies, expected even dims up to head_dim " + std::to_string(spec.headDim) +
                      " and half as many frequencies");
  }
  for (float freq : rope.freqs) {
    if (freq >= 0 && freq <= blob::kMostRopeFrequency) continue;
    return refuse(spec, "graph.import_c2",
                  "a rope frequency is " + std::to_string(freq) + ", expected 0 to " +
                      std::to_string(static_cast<uint32_t>(blob::kMostRopeFrequency)));
  }
  return Status::ok();
}

}  // namespace

Status checkSpec(const ModelSpec& spec) {
  FIRN_RETURN_IF_ERROR(checkNumbers(spec));
  FIRN_RETURN_IF_ERROR(checkRope(spec, spec.rope));
  return spec.windowRope ? checkRope(spec, *spec.windowRope) : Status::ok();
}

}  // namespace firn::passes
