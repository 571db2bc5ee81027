// Values that must not matter, written to the cache rows that hold no token.
#pragma once

#include <cstdint>

#include "engine/session.h"

namespace firn::e2e {

/// A bit pattern in fp16 and in fp32.
struct Poison {
  const char* name;
  uint16_t half;
  uint32_t single;
};

inline constexpr Poison kPoisons[] = {{"NaN", 0x7E00, 0x7FC00000},
                                      {"negative signalling NaN", 0xFD01, 0xFFA00001},
                                      {"Inf", 0x7C00, 0x7F800000},
                                      {"-Inf", 0xFC00, 0xFF800000}};

/// Rows [begin, end) of all heads of a layer.
struct LayerRows {
  uint64_t layer = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};
void poisonRows(engine::Session& session, const LayerRows& rows, const Poison& poison);

/// Writes `poison` to all rows of all heads that hold no token.
void poisonFreeRows(engine::Session& session, const Poison& poison);

}  // namespace firn::e2e
