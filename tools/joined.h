// Lists of sizes as the options of firn take them and its messages show them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace firn::tools {

/// "16,64": no gaps; empty without any.
inline std::string joined(const std::vector<uint32_t>& sizes) {
  std::string text;
  for (const uint32_t size : sizes) text += (text.empty() ? "" : ",") + std::to_string(size);
  return text;
}

}  // namespace firn::tools
