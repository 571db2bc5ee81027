// The lengths that a sweep goes through, as an option says them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace firn::tools {

/// More lengths than a compile has room for in its ladder are refused.
inline constexpr size_t kMostContexts = 63;

/// "256:32768:x2" (from 256, each twice the one before, up to 32768), "256:1024:+256" (each 256 more), or "256,4096":
/// ascending, each once. invalid_argument says what was found and expected; each is at most `most`.
Result<std::vector<uint32_t>> parseContexts(const std::string& text, uint32_t most);

}  // namespace firn::tools
