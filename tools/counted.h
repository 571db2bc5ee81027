// Numbers with what they count, for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace firn::tools {

/// "1 thread", "2 threads".
inline std::string counted(uint64_t number, std::string_view what) {
  return std::to_string(number) + " " + std::string(what) + (number == 1 ? "" : "s");
}

}  // namespace firn::tools
