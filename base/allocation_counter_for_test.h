// Counts the allocations of a test program that links firn_allocation_counter: malloc and its kin, and operator new,
// which calls it. Under a sanitizer its own malloc is counted instead.
#pragma once

#include <cstdint>

namespace firn {

/// Allocations of this process so far, by every thread.
uint64_t allocationCount();
/// The bytes that they asked for, in all.
uint64_t allocatedBytes();

}  // namespace firn
