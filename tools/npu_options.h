// Options that mean something only to programs for the npu, or that those do not know: a refusal needs no compile.
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

/// What of a compile may not fit to where it runs; empty: not given.
struct NpuOptions {
  std::string machine;
  std::string kvType;
};

/// invalid_argument, naming the options at fault:
///   - a machine is named and no part is for npu, so nothing would look at it;
///   - a KV type other than f16 is named and a layer of every model is for npu, whose layers keep their cache in f16.
///     (A head has no cache; whether a layer lies behind a range that is placed elsewhere, the model must say.)
///   - what parsePlaces refuses.
Status checkNpuOptions(const DeviceChoice& choice, const NpuOptions& options);

}  // namespace firn::tools
