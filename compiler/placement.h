// Where a user wants the parts of a model to run, from the text of --place. No MLIR, no model.
// Not here: what the targets can run, and what becomes of a wish they cannot (compiler/passes/place.cc).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace firn::compiler {

/// One place of --place: layers [first, end), or the head.
struct PlaceRange {
  bool isHead = false;
  uint32_t first = 0;
  uint32_t end = 0;
  std::string target;  ///< a name of blob/names.h
  std::string text;    ///< as it was written, for reasons and messages
};

/// Stands for the last layer's number + 1 where --place leaves the end out, until the model is known.
inline constexpr uint32_t kToTheEnd = UINT32_MAX;

/// The places of a text; none for an empty one:
///
///   places = place { "," place }
///   place  = what "=" device
///   what   = "head" | "layers" | "layers[" [first] ":" [end] "]"
///
/// Layers count from 0; `first` is one of them and `end` is not; left out they are the first and the last one.
/// invalid_argument names the place at fault: no such form, no such device, an empty range, a layer or the head twice.
Result<std::vector<PlaceRange>> parsePlaces(std::string_view text);

/// invalid_argument when a range leaves a model of that many layers.
Status checkPlaces(const std::vector<PlaceRange>& places, uint32_t layers);

}  // namespace firn::compiler
