// Options whose values are names of a fixed list; firn and firn-compile take the same ones.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
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

/// invalid_argument: a machine is named, and none of the `devices`, nor an entry of --place, is the npu, so nothing
/// would look at it.
inline Status checkMachineIsUsed(const std::string& machine, std::initializer_list<std::string_view> devices,
                                 std::string_view places) {
  const std::string_view npu = blob::targetName(blob::Target::kNpu);
  bool isUsed = machine.empty() || std::ranges::find(devices, npu) != devices.end();
  for (size_t at = 0; at < places.size() && !isUsed;) {
    const size_t end = std::min(places.find(',', at), places.size());
    isUsed = places.substr(at, end - at).ends_with("=" + std::string(npu));
    at = end + 1;
  }
  if (isUsed) return Status::ok();
  return invalidArgument("--machine is " + firn::quoted(machine) +
                         ", but no part of the model is for device npu, which alone has a machine; leave it out, or "
                         "give --device npu, --prefill-device npu, --decode-device npu or a --place with =npu");
}

inline CLI::Validator deviceCheck() { return nameCheck(blob::targetFromName, blob::targetNames()); }
inline CLI::Validator kvTypeCheck() { return nameCheck(blob::kvTypeFromName, blob::kvTypeNames()); }

}  // namespace firn::tools
