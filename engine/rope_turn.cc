#include "engine/rope_turn.h"

#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>

#include "base/concat.h"

namespace firn::engine {
namespace {

using nlohmann::json;

Status wrong(std::string_view what) { return corrupt(concat("the rope of the model card ", what)); }

Result<LayerRope> readRope(const json& object, const blob::ProgramHeader& header) {
  if (!object.is_object()) return wrong("is no list of objects");
  const auto number = [&](const char* key) -> uint64_t {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : UINT64_MAX;
  };
  const auto pairing = object.find("pairing");
  const auto frequencies = object.find("frequencies");
  const uint64_t firstLayer = number("first_layer");
  const uint64_t layers = number("layers");
  if (firstLayer > header.layers || layers == 0 || layers > header.layers - firstLayer) {
    return wrong("names layers that the model does not have");
  }
  const uint64_t dims = number("dims");
  if (dims < 2 || dims > header.headDim || dims % 2 != 0) return wrong("has dims that do not fit a head");
  if (pairing == object.end() || (*pairing != "interleaved" && *pairing != "half_split")) {
    return wrong("has a pairing that is neither interleaved nor half_split");
  }
  if (frequencies == object.end() || !frequencies->is_array() || frequencies->size() != dims / 2) {
    return wrong("has no list of dims / 2 frequencies");
  }
  LayerRope rope{.firstLayer = static_cast<uint32_t>(firstLayer),
                 .layers = static_cast<uint32_t>(layers),
                 .isInterleaved = *pairing == "interleaved",
                 .dims = static_cast<uint32_t>(dims),
                 .frequencies = {}};
  rope.frequencies.reserve(frequencies->size());
  for (const json& value : *frequencies) {
    const double frequency = value.is_number() ? value.get<double>() : NAN;
    if (!(std::abs(frequency) <= 1e6)) return wrong("has a frequency that is no number or above 1e6");
    rope.frequencies.push_back(static_cast<float>(frequency));
  }
  return rope;
}

template <typename Load, typename Store>
void turnRow(const LayerRope& rope, const float* cosines, const float* sines, const Load& load, const Store& store) {
  const uint32_t pairs = rope.dims / 2;
  for (uint32_t i = 0; i < pairs; ++i) {
    const uint32_t first = rope.isInterleaved ? 2 * i : i;
    const uint32_t second = rope.isInterleaved ? first + 1 : i + pairs;
    const float x = load(first);
    const float y = load(second);
    store(first, x * cosines[i] + y * sines[i]);
    store(second, y * cosines[i] - x * sines[i]);
  }
}

}  // namespace

Result<std::vector<LayerRope>> ropesOfCard(std::string_view card, const blob::ProgramHeader& header) {
  const json object = json::parse(card, nullptr, false);
  if (object.is_discarded() || !object.is_object()) return corrupt("the model card is no JSON object");
  std::vector<LayerRope> ropes;
  const auto list = object.find("rope");
  if (list == object.end()) return ropes;
  if (!list->is_array()) return wrong("is no list");
  uint32_t layers = 0;
  for (const json& element : *list) {
    FIRN_ASSIGN_OR_RETURN(LayerRope rope, readRope(element, header));
    if (rope.firstLayer != layers) return wrong("does not name the layers in order");
    layers += rope.layers;
    ropes.push_back(std::move(rope));
  }
  if (layers != header.layers) return wrong("does not name every layer");
  return ropes;
}

void RopeTurn::set(const LayerRope& rope, uint32_t positions) {
  for (size_t i = 0; i < rope.frequencies.size(); ++i) {
    const double angle = static_cast<double>(positions) * static_cast<double>(rope.frequencies[i]);
    cosines_[i] = static_cast<float>(std::cos(angle));
    sines_[i] = static_cast<float>(std::sin(angle));
  }
}

void RopeTurn::apply(const LayerRope& rope, std::span<std::byte> rows, DType type, uint32_t headDim) const {
  if (type == DType::kF16) {
    auto* values = reinterpret_cast<uint16_t*>(rows.data());
    for (uint64_t row = 0; row < rows.size() / sizeof(uint16_t) / headDim; ++row, values += headDim) {
      turnRow(
          rope, cosines_.data(), sines_.data(), [&](uint32_t i) { return f16ToF32(values[i]); },
          [&](uint32_t i, float value) { values[i] = f32ToF16(value); });
    }
    return;
  }
  auto* values = reinterpret_cast<float*>(rows.data());
  for (uint64_t row = 0; row < rows.size() / sizeof(float) / headDim; ++row, values += headDim) {
    turnRow(
        rope, cosines_.data(), sines_.data(), [&](uint32_t i) { return values[i]; },
        [&](uint32_t i, float value) { values[i] = value; });
  }
}

}  // namespace firn::engine
