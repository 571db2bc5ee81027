// A choice that no program can have: its refusal needs no compile.
#pragma once

#include <string>

#include "base/status.h"

namespace firn::tools {

/// The options that say where a program runs; empty: not given.
struct DeviceChoice {
  std::string device;
  std::string prefillDevice;
  std::string decodeDevice;
  std::string place;
};

/// invalid_argument, naming both options, when a part is for npu, whose programs keep their cache in f16, and
/// `--kv-type` names another type; empty: none is named.
Status checkNpuKvType(const DeviceChoice& choice, const std::string& kvType);

}  // namespace firn::tools
