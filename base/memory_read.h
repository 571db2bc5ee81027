// Reading memory as fast as one thread can: what measurements of bandwidth are made of. Not here: threads and clocks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace firn {

/// Reads words [0, count) as four streams, in the widest loads of this machine; up to 31 words at their ends are left
/// out. The result depends on what was read, so that keeping it keeps the reads.
uint64_t readMemory(const uint64_t* words, size_t count);

}  // namespace firn
