// The tensor types that a GGUF file can name: their numbers, names and block sizes. A superset of base/dtype.h: a type
// that firn does not compute with still has a name and a size here, so that it is refused by name and measured right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace firn::import {

/// One type of the GGUF specification. `blockElements` consecutive weights of a row take `blockBytes` bytes.
struct GgmlType {
  uint32_t number;
  std::string_view name;  ///< lower case ("q4_k")
  uint32_t blockElements;
  uint32_t blockBytes;
};

/// The type with this number, or nullptr when no version of the format has it or it was removed.
const GgmlType* ggmlType(uint32_t number);

/// The element type of base/dtype.h when it can hold weights of a model, else nullopt.
std::optional<DType> weightType(uint32_t ggmlNumber);

/// "f32, f16, bf16, q4_0, ...": every weight type firn reads, for messages.
std::string supportedWeightTypes();

}  // namespace firn::import
