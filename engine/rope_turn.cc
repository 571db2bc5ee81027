#include "engine/rope_turn.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/concat.h"
#include "base/row_i8.h"
#include "blob/card_limits.h"
#include "runtime/floating_point.h"

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
    if (!(std::abs(frequency) <= blob::kMostRopeFrequency)) {
      return wrong(
          concat("has a frequency that is no number or above ", static_cast<uint32_t>(blob::kMostRopeFrequency)));
    }
    rope.frequencies.push_back(static_cast<float>(frequency));
  }
  return rope;
}

void loadRow(const KeyRows& rows, uint64_t row, std::span<float> values) {
  const uint64_t at = row * rows.headDim;
  if (rows.type == DType::kF32) {
    std::copy_n(reinterpret_cast<const float*>(rows.data) + at, values.size(), values.begin());
  } else if (rows.type == DType::kF16) {
    const auto* halves = reinterpret_cast<const uint16_t*>(rows.data) + at;
    std::transform(halves, halves + values.size(), values.begin(), f16ToF32);
  } else {
    const auto* codes = reinterpret_cast<const int8_t*>(rows.data) + at;
    const float scale = rows.scales[row];
    std::transform(codes, codes + values.size(), values.begin(), [&](int8_t code) { return scale * code; });
  }
}

void storeRow(std::span<const float> values, const KeyRows& rows, uint64_t row) {
  const uint64_t at = row * rows.headDim;
  if (rows.type == DType::kF32) {
    std::ranges::copy(values, reinterpret_cast<float*>(rows.data) + at);
  } else if (rows.type == DType::kF16) {
    std::ranges::transform(values, reinterpret_cast<uint16_t*>(rows.data) + at, f32ToF16);
  } else {
    rows.scales[row] = quantizeRowI8(values, {reinterpret_cast<int8_t*>(rows.data) + at, values.size()});
  }
}

}  // namespace

Result<std::vector<LayerRope>> ropesOfCard(std::string_view card, const blob::ProgramHeader& header) {
  const runtime::DefaultFloatingPoint defaults;  // numbers are read by the rounding of the thread
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

void RopeTurn::turnRow(const LayerRope& rope) {
  const uint32_t pairs = rope.dims / 2;
  for (uint32_t i = 0; i < pairs; ++i) {
    float& x = row_[rope.isInterleaved ? 2 * i : i];
    float& y = row_[rope.isInterleaved ? 2 * i + 1 : i + pairs];
    const float turnedX = x * cosines_[i] + y * sines_[i];
    y = y * cosines_[i] - x * sines_[i];
    x = turnedX;
  }
}

void RopeTurn::apply(const LayerRope& rope, const KeyRows& rows) {
  for (uint64_t row = 0; row < rows.count; ++row) {
    loadRow(rows, row, row_);
    turnRow(rope);
    storeRow(row_, rows, row);
  }
}

}  // namespace firn::engine
