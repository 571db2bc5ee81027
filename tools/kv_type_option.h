// How --kv-type is checked; firn and firn-compile take the same names.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "base/quote.h"
#include "blob/kv_part.h"

namespace firn::tools {

inline CLI::Validator kvTypeCheck() {
  return CLI::Validator(
      [](const std::string& name) {
        return blob::kvTypeFromName(name) ? std::string()
                                          : "found " + firn::quoted(name) + ", expected one of: " + blob::kvTypeNames();
      },
      "");
}

}  // namespace firn::tools
