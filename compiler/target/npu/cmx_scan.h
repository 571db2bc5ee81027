// Puts buffers into the CMX of their tiles while it walks over the program: each where the last occupants died the
// longest ago, so that memory goes round and loads can run far ahead of their use. Fast, but it leaves holes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/target/npu/lifetimes.h"

namespace firn::target {

/// Gives `addresses` to all buffers that lie in tiles; the first buffer that finds no place, or nothing.
/// `bytes` is the capacity of a tile.
std::optional<uint32_t> scanCmx(const Plan& plan, std::span<const Lifetime> lifetimes, uint64_t bytes,
                                std::vector<uint64_t>& addresses);

}  // namespace firn::target
