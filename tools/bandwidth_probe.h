// The machine's limits, measured beside a benchmark so that its result can be judged.
#pragma once

#include <cstdint>

namespace firn::tools {

/// Bytes per second that `threads` threads read from memory, each its own part of a 256 MiB buffer, several streams
/// each: the best of a few passes, about a quarter of a second in all. 0 when the memory cannot be had.
double measureReadBandwidth(uint32_t threads);

}  // namespace firn::tools
