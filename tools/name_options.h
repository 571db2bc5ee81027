// Options whose values are names of a fixed list; firn and firn-compile take the same ones.
#pragma once

#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/joined.h"
#include "base/quote.h"
#include "base/status.h"
#include "blob/kv_part.h"
#include "blob/names.h"
#include "compiler/target/npu/machine_files.h"

namespace firn::tools {

/// Refuses a value that `fromName` does not know, with the `names` that it does.
template <typename FromName>
CLI::Validator nameCheck(FromName fromName, std::string names) {
  return CLI::Validator(
      [fromName, names = std::move(names)](const std::string& name) {
        return fromName(name) ? std::string() : "found " + firn::quoted(name) + ", expected one of: " + names;
      },
      "");
}

inline constexpr const char* kPlaceHelp =
    "Devices of single layers and of the head: entries such as layers[0:4]=reference,head=cpu with commas between "
    "them. "
    "layers[FIRST:END] ends before layer END; either number may be left out";

inline std::string machineHelp() {
  return "Machine that device npu is: one of " + joined(npu::machineNames(), ", ") +
         ", or a machine file (default: " + npu::kDefaultMachine + ")";
}

inline CLI::Validator deviceCheck() { return nameCheck(blob::targetFromName, blob::targetNames()); }
inline CLI::Validator kvTypeCheck() { return nameCheck(blob::kvTypeFromName, blob::kvTypeNames()); }

}  // namespace firn::tools
