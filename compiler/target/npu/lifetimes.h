// From when to when a plan's buffers hold something, in the order of the program.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/target/npu/plan.h"

namespace firn::target {

/// Buffers are placed at multiples of this, and take up multiples of it.
inline constexpr uint64_t kPlacementBytes = 64;

/// Numbers of the tasks with the first and the last access of a buffer.
struct Lifetime {
  uint32_t first = UINT32_MAX;
  uint32_t last = 0;

  bool isEmpty() const { return first == UINT32_MAX; }
};

/// One for each buffer; empty for one that no task touches.
std::vector<Lifetime> lifetimesOf(const Plan& plan);

/// What a buffer takes up where it is placed.
uint64_t placedBytes(const PlanBuffer& buffer);

}  // namespace firn::target
